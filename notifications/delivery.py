"""Delivers notifications: at least once, each target at its own pace, none waiting for another.

waiting, due → waiting, due after a lease   claim   by one worker; a lost one's notification is due again
claimed      → delivered                    the target took it
claimed      → waiting, due later           it did not; the pauses grow to hours
claimed      → failed                       GIVE_UP after it was written, or at once when trying again is no use
"""

import asyncio
import logging
import random
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from django.conf import settings

from notifications import events
from notifications.channels import registry
from notifications.channels.interface import Message
from notifications.destinations import delivering
from notifications.errors import GivenUp, TargetGone, Undelivered
from notifications.inbox import entries, live
from notifications.outbox import DECIDING, REQUESTER
from tenants.people.encryption import Undecipherable, decrypt
from tenants.people.principal import DECIDERS
from tenants.scope.transactions import Connection, TenantScope, transaction

log = logging.getLogger(__name__)
Row = dict[str, Any]

# Of one target in one process at once; one that hangs holds these up, and nobody else's.
AT_ONCE = 8
LEASE = timedelta(seconds=60)
GIVE_UP = timedelta(hours=24)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(hours=6)
# Notifications are nobody's personal rows: within the tenant, as no user of it.
_NOBODY = uuid.UUID(int=0)
_under_way: Counter[uuid.UUID] = Counter()

# Messages of people have a destination of theirs, or are to addresses, which are one target for each person. What the
# tenant never made a target for is one target: its e-mail to those who decide.
_TARGET = "coalesce(target_id, destination_id, CASE WHEN message_id IS NOT NULL THEN user_id END, tenant_id)"
_CLAIM = f"""
    WITH due AS (
        SELECT id, row_number() OVER (PARTITION BY {_TARGET} ORDER BY due_at, id) AS place FROM notifications
        WHERE tenant_id = %(tenant_id)s AND status = 'waiting' AND due_at <= now()
          AND {_TARGET} <> ALL(%(busy)s::uuid[])
    ), free AS (
        SELECT n.id FROM notifications n JOIN due ON due.id = n.id AND due.place <= %(at_once)s
        WHERE n.status = 'waiting' AND n.due_at <= now() FOR UPDATE OF n SKIP LOCKED
    ), claimed AS (
        UPDATE notifications n SET attempts = n.attempts + 1, due_at = now() + %(lease)s
        FROM free WHERE n.id = free.id RETURNING n.*
    )
    SELECT c.id, c.tenant_id, c.user_id, requester.username, c.event, c.payload, c.channel, c.target_id, c.recipient_id,
        c.message_id, c.destination_id, c.attempts, c.created_at, t.destination, t.secret,
        coalesce(t.enabled, true) AS enabled,
        CASE WHEN recipient.is_active AND (t.destination = '{REQUESTER}' OR m.role = ANY(%(deciders)s))
            THEN recipient.email END AS email
    FROM claimed c
    LEFT JOIN users requester ON requester.id = c.user_id
    LEFT JOIN notification_targets t ON t.tenant_id = c.tenant_id AND c.message_id IS NULL AND (t.id = c.target_id
        OR c.target_id IS NULL AND t.channel = c.channel AND t.destination = '{DECIDING}')
    LEFT JOIN memberships m ON m.tenant_id = c.tenant_id AND m.user_id = c.recipient_id
    LEFT JOIN users recipient ON recipient.id = c.recipient_id"""
_SETTLE = """
    UPDATE notifications SET status = %(status)s, problem = %(problem)s, due_at = %(due_at)s,
        finished_at = CASE WHEN %(status)s <> 'waiting' THEN now() END
    WHERE id = %(id)s AND status = 'waiting' AND attempts = %(attempts)s RETURNING id"""
_SWITCH_OFF = "UPDATE notification_targets SET enabled = false, disabled_because = %s WHERE id = %s AND enabled"


async def deliver(tenant_id: uuid.UUID) -> None:
    """Deliver what is due in a tenant, and what becomes due meanwhile."""
    trying: set[asyncio.Task[None]] = set()
    while True:
        trying |= {asyncio.create_task(_try(row)) for row in await _claim(tenant_id)}
        if not trying:
            return
        _, trying = await asyncio.wait(trying, return_when=asyncio.FIRST_COMPLETED)


async def _claim(tenant_id: uuid.UUID) -> list[Row]:
    values = {
        "tenant_id": tenant_id,
        "busy": [target for target, number in _under_way.items() if number >= AT_ONCE],
        "at_once": AT_ONCE,
        "lease": LEASE,
        "deciders": DECIDERS,
    }
    async with transaction(TenantScope(tenant_id, _NOBODY)) as connection:
        claimed = await (await connection.execute(_CLAIM.encode(), values)).fetchall()
    _under_way.update(_target(row) for row in claimed)
    return claimed


async def _try(row: Row) -> None:
    target = _target(row)
    try:
        await _settle(row, await _problem(row))
    except Exception:
        log.exception("notification left to the next sweep", extra={"notification": str(row["id"])})
    finally:
        _under_way[target] -= 1
        if not _under_way[target]:
            del _under_way[target]


async def _problem(row: Row) -> Undelivered | None:
    """What kept the notification from its target, or None."""
    try:
        channel = registry.find(row["channel"])
        if channel is None:
            raise Undelivered(f"This installation has no channel called {row['channel']}.")
        await channel.deliver(await _read(row))
    except Undelivered as problem:
        return problem
    except Exception:
        # A fault of ours: tried again as any other, and given up in the end.
        log.exception("notification failed", extra={"notification": str(row["id"])})
        return Undelivered("It could not be made.")
    return None


async def _read(row: Row) -> Message:
    """What is to be delivered. Raises Undelivered where that is known to be no use."""
    if row["message_id"] is None:
        return _message(row)
    async with transaction(_scope(row)) as connection:
        return await delivering.message(connection, row)


def _message(row: Row) -> Message:
    """What the channel is to deliver, and where to. Raises Undelivered where that is known to be no use."""
    if not row["enabled"]:
        raise GivenUp("The target was switched off.")
    if row["recipient_id"] is not None and not row["email"]:
        raise GivenUp("The person decides no longer, or has no address.")
    try:
        secret = decrypt(row["secret"]) if row["secret"] else ""
    except Undecipherable:
        raise Undelivered("The target's secret cannot be decrypted with TOOLGATE_ENCRYPTION_KEYS.") from None
    payload = orjson.loads(row["payload"])
    payload["user"] = {"id": str(row["user_id"]), "username": row["username"]}
    payload["url"] = f"{settings.PUBLIC_URL}{payload['url']}"
    return Message(
        id=row["id"],
        event=row["event"],
        created_at=row["created_at"],
        payload=payload,
        words=events.words_of(row["event"], payload),
        destination=row["email"] if row["recipient_id"] is not None else row["destination"],
        secret=secret,
    )


async def _settle(row: Row, problem: Undelivered | None) -> None:
    next_time = datetime.now(UTC) + pause(row["attempts"])
    status = "waiting"
    if problem is None:
        status = "delivered"
    elif isinstance(problem, GivenUp) or next_time > row["created_at"] + GIVE_UP:
        status = "failed"
    if problem is not None:
        extra = {"notification": str(row["id"]), "attempt": row["attempts"], "why": str(problem), "status": status}
        log.warning("notification not delivered", extra=extra)
    values = {"id": row["id"], "attempts": row["attempts"], "status": status, "due_at": next_time}
    entered = False
    async with transaction(_scope(row)) as connection:
        settled = await (await connection.execute(_SETTLE, values | {"problem": str(problem or "")})).fetchone()
        if row["message_id"] is not None and settled is not None:
            entered = await _tell(connection, row, status, problem)
        elif isinstance(problem, TargetGone):
            await connection.execute(_SWITCH_OFF, [str(problem), row["target_id"]])
    if entered:
        await live.announce(row["tenant_id"], row["user_id"])


async def _tell(connection: Connection, row: Row, status: str, problem: Undelivered | None) -> bool:
    """Say how far a person's message is, and that it failed in their inbox; whether that has a new entry."""
    message = await delivering.settle(connection, row, status, problem)
    if message is None or status != "failed":
        return False
    title = f"Your {message['kind']} to {message['recipient']} could not be delivered"
    key = f"delivery:{row['message_id']}"
    scope = (row["tenant_id"], row["user_id"])
    path = delivering.SENT_PATH
    return bool(
        await entries.put(connection, *scope, kind="delivery", key=key, title=title, text=str(problem), path=path)
    )


def _scope(row: Row) -> TenantScope:
    """Whose rows the notification is about: of a person's message that person's, else nobody's."""
    return TenantScope(row["tenant_id"], row["user_id"] if row["message_id"] is not None else _NOBODY)


def pause(attempts: int) -> timedelta:
    """How long to wait after so many attempts, with a fifth of chance in it: 5 s, 20 s, 80 s, …, at most 6 h."""
    growing: timedelta = FIRST_PAUSE * 4 ** min(attempts - 1, 10)
    return min(growing, LONGEST_PAUSE) * random.uniform(0.8, 1.2)


def _target(row: Row) -> uuid.UUID:
    person = row["user_id"] if row["message_id"] is not None else None
    target: uuid.UUID = row["target_id"] or row["destination_id"] or person or row["tenant_id"]
    return target
