"""A person's inbox: written by workers in the transaction of what it tells, read and cleared by the person."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now
from psycopg.types.json import Jsonb

from notifications.models import InboxEntry
from tenants.people.principal import Principal
from tenants.scope import transactions
from tenants.scope.transactions import Connection

MAX_TITLE, MAX_TEXT, MAX_KEY, MAX_PATH = 200, 20_000, 200, 500
# Entries go when they are this old, read or not.
RETENTION_DAYS = 180
# More unread ones are told as 99+.
MOST = 99

_PUT = "SELECT tell_person(%s, %s, %s, %s, %s, %s, %s, %s, %s) AS id"
_FORGET = "DELETE FROM inbox_entries WHERE created_at < now() - make_interval(days => %s) RETURNING id"


async def put(
    connection: Connection,
    tenant_id: uuid.UUID,
    user_id: uuid.UUID,
    *,
    kind: str,
    key: str,
    title: str,
    text: str = "",
    path: str = "",
    call_id: uuid.UUID | None = None,
    media: Sequence[dict[str, Any]] = (),
) -> uuid.UUID | None:
    """Write an entry for a person, in a transaction of theirs; its id, or None when the key has an entry already.

    `title` is one line. `path` is a path of this site, `media` what `notifications.media.find` found. What is too long
    is cut. Afterwards: `live.announce`.
    """
    line = " ".join(title.split())
    values: tuple[Any, ...] = (kind, key[:MAX_KEY], line[:MAX_TITLE], text[:MAX_TEXT], path[:MAX_PATH], call_id)
    values = (*values, Jsonb(list(media)))
    row = await (await connection.execute(_PUT, (tenant_id, user_id, *values))).fetchone()
    return row["id"] if row else None


def own(principal: Principal, *, unread: bool = False) -> QuerySet[InboxEntry]:
    """The caller's entries, newest first; with `unread`, those that they have not read."""
    entries = InboxEntry.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id)
    entries = entries.order_by("-created_at", "-id")
    return entries.filter(read_at=None) if unread else entries


def unread(principal: Principal) -> int:
    """How many entries the caller has not read, up to one beyond MOST; one query."""
    return own(principal, unread=True).order_by()[: MOST + 1].count()


def mark(principal: Principal, id: uuid.UUID, *, read: bool) -> InboxEntry | None:
    """Say whether an entry was read; None when the caller has no such entry. What was read stays read as of then."""
    found = own(principal).filter(pk=id)
    if read:
        found.filter(read_at=None).update(read_at=Now())
    else:
        found.update(read_at=None)
    return found.first()


def mark_all(principal: Principal) -> int:
    """Say that everything was read; returns how many entries had not been."""
    return own(principal, unread=True).order_by().update(read_at=Now())


def delete(principal: Principal, id: uuid.UUID) -> bool:
    """Delete an entry; False when the caller has no such entry."""
    deleted, _ = own(principal).filter(pk=id).delete()
    return bool(deleted)


async def forget_old() -> None:
    """Drop what is older than RETENTION_DAYS, of all tenants."""
    await transactions.fetch(_FORGET, [RETENTION_DAYS], login="system")
