"""Rows for what has to be delivered: written with the event that they are about, and delivered later.

write    in the event's transaction: one statement, and no row where no target wants the event
         (`notify_targets`, as SQL functions call it)
send     after its commit: asks a worker to deliver
send_due for the sweeper: asks again for what is due, whatever became of earlier messages
"""

import asyncio
import logging
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import orjson
from psycopg import AsyncCursor
from redis.exceptions import RedisError

from notifications.events import Event
from tenants.scope import transactions
from tenants.scope.transactions import Connection
from tools.network import messages

log = logging.getLogger(__name__)

# Destinations that stand for members of the tenant; each gets a row of their own.
DECIDING, REQUESTER = "deciders", "requester"
GROUPS = [DECIDING, REQUESTER]
RETENTION_DAYS = 30
# Tenants that one sweep asks for; the next one comes in seconds.
BATCH = 500
# What has been due for less is with a worker already.
OVERDUE_SECONDS = 2
# A broker that hangs is waited for so long; the sweeper finds what it did not take.
SEND_SECONDS = 1.0

# Who is written to where the tenant has no target for them, by e-mail, says the function too.
_WRITE = """
    SELECT 1 WHERE notify_targets(%(tenant_id)s, %(user_id)s, %(event)s, %(subject_id)s, %(payload)s,
        %(asks_deciders)s) > 0"""
_SETTLED = """
    UPDATE notifications SET status = 'failed', problem = 'The request was over before it could be sent.',
        finished_at = now()
    WHERE tenant_id = %(tenant_id)s AND subject_id = %(subject_id)s AND event = %(answers)s
      AND recipient_id IS NOT NULL AND status = 'waiting'"""
_DUE = """
    SELECT tenant_id FROM notifications
    WHERE status = 'waiting' AND due_at < now() - make_interval(secs => %s)
    GROUP BY tenant_id ORDER BY min(due_at) LIMIT %s"""
_FORGET = """
    DELETE FROM notifications WHERE status <> 'waiting' AND finished_at < now() - make_interval(days => %s)
    RETURNING id"""


@dataclass(frozen=True, slots=True)
class Written:
    """What `write` wrote; how much of it is known once its transaction is over."""

    tenant_id: uuid.UUID
    cursor: AsyncCursor[dict[str, Any]]


async def write(connection: Connection, event: Event) -> Written:
    """Write a row for each target of the tenant that wants the event, and for each member that it stands for.

    Nothing is fetched: in a pipelined transaction it costs no round trip. What the event settles is not asked any more.
    """
    values = {
        "tenant_id": event.tenant_id,
        "user_id": event.user_id,
        "event": event.type.name,
        "subject_id": event.subject_id,
        "payload": orjson.dumps(event.payload, option=orjson.OPT_UTC_Z).decode(),
        "asks_deciders": event.type.asks_deciders,
        "answers": event.type.answers,
    }
    if event.type.answers:
        await connection.execute(_SETTLED, values)
    return Written(event.tenant_id, await connection.execute(_WRITE, values))


async def send(*written: Written) -> None:
    """Ask a worker to deliver what was committed; a broker that is away or hangs leaves it to the next sweep."""
    await ask({each.tenant_id for each in written if each.cursor.rowcount > 0})


async def send_due() -> int:
    """Ask the workers to deliver what is due, for how many tenants."""
    due = await transactions.fetch(_DUE, [OVERDUE_SECONDS, BATCH], login="system")
    await ask([row["tenant_id"] for row in due])
    return len(due)


async def forget_old() -> None:
    """Drop what has been over for RETENTION_DAYS."""
    await transactions.fetch(_FORGET, [RETENTION_DAYS], login="system")


async def ask(tenants: Collection[uuid.UUID]) -> None:
    """As `send`, for tenants that something was written for."""
    if not tenants:
        return
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await messages.send([("notifications.deliver", [str(tenant_id)]) for tenant_id in tenants])
    except (RedisError, OSError, TimeoutError) as away:
        log.warning("notifications left to the sweeper", extra={"tenants": len(tenants), "why": type(away).__name__})
