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
from notifications.errors import GivenUp, TargetGone, Undelivered
from notifications.outbox import DECIDING, REQUESTER
from tenants.people.encryption import Undecipherable, decrypt
from tenants.people.principal import DECIDERS
from tenants.scope.transactions import TenantScope, transaction

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

# What the tenant never made a target for is one target: its e-mail to those who decide.
_CLAIM = f"""
    WITH due AS (
        SELECT id, row_number() OVER (PARTITION BY target_id ORDER BY due_at, id) AS place FROM notifications
        WHERE tenant_id = %(tenant_id)s AND status = 'waiting' AND due_at <= now()
          AND coalesce(target_id, tenant_id) <> ALL(%(busy)s::uuid[])
    ), free AS (
        SELECT n.id FROM notifications n JOIN due ON due.id = n.id AND due.place <= %(at_once)s
        WHERE n.status = 'waiting' AND n.due_at <= now() FOR UPDATE OF n SKIP LOCKED
    ), claimed AS (
        UPDATE notifications n SET attempts = n.attempts + 1, due_at = now() + %(lease)s
        FROM free WHERE n.id = free.id RETURNING n.*
    )
    SELECT c.id, c.tenant_id, c.user_id, requester.username, c.event, c.payload, c.channel, c.target_id, c.recipient_id,
        c.attempts, c.created_at, t.destination, t.secret, coalesce(t.enabled, true) AS enabled,
        CASE WHEN recipient.is_active AND (t.destination = '{REQUESTER}' OR m.role = ANY(%(deciders)s))
            THEN recipient.email END AS email
    FROM claimed c
    LEFT JOIN users requester ON requester.id = c.user_id
    LEFT JOIN notification_targets t ON t.tenant_id = c.tenant_id AND (t.id = c.target_id
        OR c.target_id IS NULL AND t.channel = c.channel AND t.destination = '{DECIDING}')
    LEFT JOIN memberships m ON m.tenant_id = c.tenant_id AND m.user_id = c.recipient_id
    LEFT JOIN users recipient ON recipient.id = c.recipient_id"""
_SETTLE = """
    UPDATE notifications SET status = %(status)s, problem = %(problem)s, due_at = %(due_at)s,
        finished_at = CASE WHEN %(status)s <> 'waiting' THEN now() END
    WHERE id = %(id)s AND status = 'waiting' AND attempts = %(attempts)s"""
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
        await channel.deliver(_message(row))
    except Undelivered as problem:
        return problem
    except Exception:
        # A fault of ours: tried again as any other, and given up in the end.
        log.exception("notification failed", extra={"notification": str(row["id"])})
        return Undelivered("It could not be made.")
    return None


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
    async with transaction(TenantScope(row["tenant_id"], _NOBODY)) as connection:
        await connection.execute(_SETTLE, values | {"problem": str(problem or "")})
        if isinstance(problem, TargetGone):
            await connection.execute(_SWITCH_OFF, [str(problem), row["target_id"]])


def pause(attempts: int) -> timedelta:
    """How long to wait after so many attempts, with a fifth of chance in it: 5 s, 20 s, 80 s, …, at most 6 h."""
    growing: timedelta = FIRST_PAUSE * 4 ** min(attempts - 1, 10)
    return min(growing, LONGEST_PAUSE) * random.uniform(0.8, 1.2)


def _target(row: Row) -> uuid.UUID:
    target: uuid.UUID = row["target_id"] or row["tenant_id"]
    return target
