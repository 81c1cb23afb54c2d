"""Delivers notices: at least once, each receiver at its own pace, none waiting for another.

waiting, due → waiting, due after a lease   claim   by one worker; a lost one's notice is due again
claimed      → delivered                    the receiver took it
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

from approvals.notifications import email, webhooks
from approvals.notifications.errors import GivenUp, ReceiverGone, Undelivered
from approvals.notifications.outbox import DECIDERS
from tenants.scope.transactions import TenantScope, transaction

log = logging.getLogger(__name__)
Row = dict[str, Any]

# Of one receiver in one process at once; one that hangs holds these up, and nobody else's.
AT_ONCE = 8
LEASE = timedelta(seconds=60)
GIVE_UP = timedelta(hours=24)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(hours=6)
# Nobody's notices are personal: within the tenant's walls, as no user of it.
_NOBODY = uuid.UUID(int=0)
_under_way: Counter[uuid.UUID] = Counter()

# A receiver is an endpoint, or all of the tenant's e-mail.
_CLAIM = """
    WITH due AS (
        SELECT id, row_number() OVER (PARTITION BY endpoint_id ORDER BY due_at, id) AS place FROM approval_notices
        WHERE tenant_id = %(tenant_id)s AND status = 'waiting' AND due_at <= now()
          AND coalesce(endpoint_id, tenant_id) <> ALL(%(busy)s::uuid[])
    ), free AS (
        SELECT n.id FROM approval_notices n JOIN due ON due.id = n.id AND due.place <= %(at_once)s
        WHERE n.status = 'waiting' AND n.due_at <= now() FOR UPDATE OF n SKIP LOCKED
    ), claimed AS (
        UPDATE approval_notices n SET attempts = n.attempts + 1, due_at = now() + %(lease)s
        FROM free WHERE n.id = free.id RETURNING n.*
    )
    SELECT c.id, c.tenant_id, c.endpoint_id, c.event, c.attempts, c.created_at, c.request_id, r.tool_name, r.tier,
        r.run_id, r.user_id AS requester_id, asker.username AS requester, r.created_at AS requested_at, r.expires_at,
        r.status AS request_status, e.url, e.secret, e.enabled,
        CASE WHEN m.role = ANY(%(deciders)s) AND decider.is_active THEN decider.email END AS email
    FROM claimed c
    JOIN approval_requests r ON r.id = c.request_id
    LEFT JOIN users asker ON asker.id = r.user_id
    LEFT JOIN webhook_endpoints e ON e.id = c.endpoint_id
    LEFT JOIN memberships m ON m.tenant_id = c.tenant_id AND m.user_id = c.user_id
    LEFT JOIN users decider ON decider.id = c.user_id"""
_SETTLE = """
    UPDATE approval_notices SET status = %(status)s, problem = %(problem)s, due_at = %(due_at)s,
        finished_at = CASE WHEN %(status)s <> 'waiting' THEN now() END
    WHERE id = %(id)s AND status = 'waiting' AND attempts = %(attempts)s"""
_SWITCH_OFF = "UPDATE webhook_endpoints SET enabled = false, disabled_because = %s WHERE id = %s AND enabled"


async def deliver(tenant_id: uuid.UUID) -> None:
    """Deliver what is due in a tenant, and what becomes due meanwhile."""
    trying: set[asyncio.Task[None]] = set()
    while True:
        trying |= {asyncio.create_task(_try(notice)) for notice in await _claim(tenant_id)}
        if not trying:
            return
        _, trying = await asyncio.wait(trying, return_when=asyncio.FIRST_COMPLETED)


async def _claim(tenant_id: uuid.UUID) -> list[Row]:
    values = {
        "tenant_id": tenant_id,
        "busy": [receiver for receiver, number in _under_way.items() if number >= AT_ONCE],
        "at_once": AT_ONCE,
        "lease": LEASE,
        "deciders": DECIDERS,
    }
    async with transaction(TenantScope(tenant_id, _NOBODY)) as connection:
        claimed = await (await connection.execute(_CLAIM, values)).fetchall()
    _under_way.update(_receiver(notice) for notice in claimed)
    return claimed


async def _try(notice: Row) -> None:
    receiver = _receiver(notice)
    try:
        await _settle(notice, await _problem(notice))
    except Exception:
        log.exception("notice left to the next sweep", extra={"notice": str(notice["id"])})
    finally:
        _under_way[receiver] -= 1
        if not _under_way[receiver]:
            del _under_way[receiver]


async def _problem(notice: Row) -> Undelivered | None:
    """What kept the notice from its receiver, or None."""
    try:
        await (webhooks.deliver(notice) if notice["endpoint_id"] else email.deliver(notice))
    except Undelivered as problem:
        return problem
    except Exception:
        # A fault of ours: tried again as any other, and given up in the end.
        log.exception("notice failed", extra={"notice": str(notice["id"])})
        return Undelivered("It could not be made.")
    return None


async def _settle(notice: Row, problem: Undelivered | None) -> None:
    next_time = datetime.now(UTC) + pause(notice["attempts"])
    status = "waiting"
    if problem is None:
        status = "delivered"
    elif isinstance(problem, GivenUp) or next_time > notice["created_at"] + GIVE_UP:
        status = "failed"
    if problem is not None:
        told = {"notice": str(notice["id"]), "attempt": notice["attempts"], "why": str(problem), "status": status}
        log.warning("notice not delivered", extra=told)
    values = {"id": notice["id"], "attempts": notice["attempts"], "status": status, "due_at": next_time}
    async with transaction(TenantScope(notice["tenant_id"], _NOBODY)) as connection:
        await connection.execute(_SETTLE, values | {"problem": str(problem or "")})
        if isinstance(problem, ReceiverGone):
            await connection.execute(_SWITCH_OFF, [str(problem), notice["endpoint_id"]])


def pause(attempts: int) -> timedelta:
    """How long to wait after so many attempts, with a fifth of chance in it: 5 s, 20 s, 80 s, …, at most 6 h."""
    growing: timedelta = FIRST_PAUSE * 4 ** min(attempts - 1, 10)
    return min(growing, LONGEST_PAUSE) * random.uniform(0.8, 1.2)


def _receiver(notice: Row) -> uuid.UUID:
    receiver: uuid.UUID = notice["endpoint_id"] or notice["tenant_id"]
    return receiver
