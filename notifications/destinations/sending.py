"""Messages in a person's name: written with their row of the outbox in one statement, delivered after the commit."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from psycopg.types.json import Jsonb

from notifications.destinations.facts import OPEN
from notifications.models import Notification, SentMessage
from tenants.people.principal import Principal
from tenants.scope import transactions
from tenants.scope.transactions import Connection
from tools.stores import folded

# Messages that are over go when they are this old.
RETENTION_DAYS = 180
EVENTS = {"message": "message.sent", "reminder": "reminder.due"}

_FIND = f"""
    SELECT id, name, channel FROM destinations d
    WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s AND {OPEN}
      AND (folded = %(to)s OR channel = 'email' AND lower(destination) = %(to)s)
    ORDER BY folded = %(to)s DESC, created_at LIMIT 1"""
_WANT_REMINDERS = f"""
    SELECT id, name, channel FROM destinations d
    WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s AND {OPEN} AND reminders ORDER BY created_at"""
_WRITE = """
    WITH sent AS (
        INSERT INTO sent_messages (id, tenant_id, user_id, key, kind, channel, destination_id, recipient, text,
            operation, call_id, media)
        VALUES (gen_random_uuid(), %(tenant_id)s, %(user_id)s, %(key)s, %(kind)s, %(channel)s, %(destination_id)s,
            %(recipient)s, %(text)s, %(operation)s, %(call_id)s, %(media)s)
        ON CONFLICT (tenant_id, user_id, key) DO NOTHING RETURNING id
    )
    INSERT INTO notifications (id, tenant_id, user_id, event, subject_id, payload, channel, message_id, destination_id,
        status, attempts, due_at, created_at, problem)
    SELECT gen_random_uuid(), %(tenant_id)s, %(user_id)s, %(event)s, sent.id, '{}', %(channel)s, sent.id,
        %(destination_id)s, 'waiting', 0, now(), now(), '' FROM sent
    RETURNING message_id"""
_FORGET = """
    DELETE FROM sent_messages WHERE status <> 'waiting' AND created_at < now() - make_interval(days => %s)
    RETURNING id"""


@dataclass(frozen=True, slots=True)
class Where:
    """A verified destination, or without an id an address of e-mail."""

    id: uuid.UUID | None
    name: str
    channel: str


async def find(connection: Connection, tenant_id: uuid.UUID, user_id: uuid.UUID, to: str) -> Where | None:
    """The person's verified destination of this name, else the one with this e-mail address."""
    values = {"tenant_id": tenant_id, "user_id": user_id, "to": folded(to)}
    row = await (await connection.execute(_FIND.encode(), values)).fetchone()
    return Where(**row) if row else None


async def write(
    connection: Connection,
    tenant_id: uuid.UUID,
    user_id: uuid.UUID,
    where: Where,
    *,
    kind: str,
    key: str,
    text: str,
    operation: dict[str, Any] | None = None,
    call_id: uuid.UUID | None = None,
    media: Sequence[dict[str, Any]] = (),
) -> uuid.UUID | None:
    """Write a message and its row of the outbox, in a transaction of the person's; its id, None when the key has one.

    `kind` is one of EVENTS, `media` what `notifications.media.find` found. Afterwards: `outbox.ask`.
    """
    values = {
        "tenant_id": tenant_id,
        "user_id": user_id,
        "kind": kind,
        "event": EVENTS[kind],
        "key": key,
        "channel": where.channel,
        "destination_id": where.id,
        "recipient": where.name,
        "text": text,
        "operation": None if operation is None else Jsonb(operation),
        "call_id": call_id,
        "media": Jsonb(list(media)),
    }
    row = await (await connection.execute(_WRITE.encode(), values)).fetchone()
    return row["message_id"] if row else None


async def remind(connection: Connection, tenant_id: uuid.UUID, user_id: uuid.UUID, *, text: str, key: str) -> int:
    """Write a message for each verified destination of the person's that wants reminders, once a key; how many."""
    values = {"tenant_id": tenant_id, "user_id": user_id}
    written = 0
    for row in await (await connection.execute(_WANT_REMINDERS.encode(), values)).fetchall():
        of_one = f"{key}:{row['id']}"
        sent = await write(connection, tenant_id, user_id, Where(**row), kind="reminder", key=of_one, text=text)
        written += sent is not None
    return written


def own(principal: Principal) -> QuerySet[SentMessage]:
    """What was sent in the caller's name, newest first; what waits has a `next_attempt_at`."""
    sent = SentMessage.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id)
    waiting = Notification.objects.filter(
        tenant_id=OuterRef("tenant_id"), message_id=OuterRef("id"), status=Notification.Status.WAITING
    )
    sent = sent.annotate(next_attempt_at=Subquery(waiting.order_by().values("due_at")[:1]))
    return sent.order_by("-created_at", "-id")


def of_call(principal: Principal, call: Any) -> list[SentMessage]:
    """What a call has sent in the caller's name, oldest first; nothing of somebody else's call.

    The table is asked only about a call that says that it has sent something.
    """
    if not any(each.get("kind") == "message" for each in call.side_effects or ()):
        return []
    return list(own(principal).filter(call_id=call.id).order_by("created_at", "id"))


async def erase(connection: Connection, call_ids: list[uuid.UUID]) -> None:
    """Erase the text of what calls have sent; what waits is not delivered any more."""
    await connection.execute("SELECT erase_sent_messages(%s)", [call_ids])


async def forget_old() -> None:
    """Drop what is over and older than RETENTION_DAYS, of all tenants."""
    await transactions.fetch(_FORGET, [RETENTION_DAYS], login="system")
