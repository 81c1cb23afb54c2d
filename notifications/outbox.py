"""Who is told of approvals, by e-mail and webhook: rows that are written with what they tell of, and delivered later.

add      in the transaction of the event: one statement, and no row where nobody wants to know
send     after its commit: asks a worker to deliver
send_due for the sweeper: asks again for what is due, whatever became of earlier messages
"""

import asyncio
import logging
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from celery import current_app
from psycopg import AsyncCursor

from approvals.rows import ApprovalRequest
from tenants.people.principal import SCOPES
from tenants.scope import transactions
from tenants.scope.transactions import Connection

log = logging.getLogger(__name__)

Event = Literal["requested", "approved", "denied", "expired", "cancelled"]
Row = dict[str, Any]

KEPT_DAYS = 30
# Tenants that one sweep asks for; the next one comes in seconds.
BATCH = 500
# A notice that has been due for less is with a worker already.
OVERDUE_SECONDS = 2
DECIDERS = [role for role, scopes in SCOPES.items() if "approvals:decide" in scopes]
# Few and our own: each keeps its connection to the broker.
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="notices")

_ADD = """
    INSERT INTO approval_notices (id, tenant_id, request_id, endpoint_id, user_id, event, status, attempts, due_at,
        created_at, problem)
    SELECT gen_random_uuid(), %(tenant_id)s, %(id)s, told.endpoint_id, told.user_id, %(event)s, 'waiting', 0, now(),
        now(), ''
    FROM (
        SELECT id AS endpoint_id, NULL::uuid AS user_id FROM webhook_endpoints
        WHERE tenant_id = %(tenant_id)s AND enabled
        UNION ALL
        SELECT NULL, m.user_id FROM memberships m JOIN users u ON u.id = m.user_id
        WHERE %(event)s = 'requested' AND m.tenant_id = %(tenant_id)s AND m.role = ANY(%(deciders)s)
          AND u.is_active AND u.email <> ''
          AND m.user_id <> (SELECT user_id FROM approval_requests WHERE id = %(id)s)
    ) told"""
_DUE = """
    SELECT tenant_id FROM approval_notices
    WHERE status = 'waiting' AND due_at < now() - make_interval(secs => %s)
    GROUP BY tenant_id ORDER BY min(due_at) LIMIT %s"""
_FORGET = """
    DELETE FROM approval_notices WHERE status <> 'waiting' AND finished_at < now() - make_interval(days => %s)
    RETURNING id"""


@dataclass(frozen=True, slots=True)
class Added:
    """What `add` wrote; how much of it is known once its transaction is over."""

    tenant_id: uuid.UUID
    cursor: AsyncCursor[Row]


async def add(connection: Connection, request: ApprovalRequest, event: Event) -> Added:
    """Write the notices of an event to a request, which is in the same transaction.

    Each of the tenant's webhooks is told of every event; whoever may decide and has an address is asked by e-mail.
    """
    values = {"id": request.id, "tenant_id": request.tenant_id, "event": event, "deciders": DECIDERS}
    return Added(request.tenant_id, await connection.execute(_ADD, values))


async def send(*added: Added) -> None:
    """Ask a worker to deliver what was committed; a broker that is away leaves it to the next sweep."""
    await _ask({each.tenant_id for each in added if each.cursor.rowcount > 0})


async def send_due() -> int:
    """Ask the workers to deliver what is due, for how many tenants."""
    due = await transactions.fetch(_DUE, [OVERDUE_SECONDS, BATCH], login="system")
    await _ask([row["tenant_id"] for row in due])
    return len(due)


async def forget_old() -> None:
    """Drop the notices that have been over for KEPT_DAYS."""
    await transactions.fetch(_FORGET, [KEPT_DAYS], login="system")


async def _ask(tenants: Iterable[uuid.UUID]) -> None:
    if named := [str(tenant_id) for tenant_id in tenants]:
        await asyncio.get_running_loop().run_in_executor(_THREADS, _ask_now, named)


def _ask_now(tenants: list[str]) -> None:
    for tenant_id in tenants:
        try:
            current_app.send_task("approvals.deliver", args=[tenant_id], ignore_result=True, retry=False)
        except Exception as away:
            log.warning("notices left to the sweeper", extra={"tenant": tenant_id, "why": type(away).__name__})
            return
