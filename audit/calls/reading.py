"""Tool calls as services above read them: one by its id, and across tenants those that nobody works on any more."""

import uuid
from typing import Any

from audit.calls.rows import ToolCall
from tenants.scope import rows, transactions
from tenants.scope.transactions import Connection, TenantScope

Row = dict[str, Any]

# No id is greater.
_LAST = uuid.UUID(int=2**128 - 1)

_ROW = rows.columns(ToolCall)
_OF_ID = f"SELECT {_ROW} FROM tool_calls WHERE id = %s"
_OF_USER = f"SELECT {_ROW} FROM tool_calls WHERE id = %s AND user_id = %s"
_LOOK = f"SELECT {_ROW} FROM tool_calls WHERE id = $1 AND user_id = $2".encode()
_ALONE = f"""
    SELECT {_ROW} FROM tool_calls WHERE user_id = %s AND origin = %s AND run_id IS NULL AND id < %s
    ORDER BY id DESC LIMIT %s"""
_OPEN_ALONE = """
    SELECT id FROM tool_calls WHERE tenant_id = %s AND user_id = %s AND run_id IS NULL
        AND status NOT IN ('success', 'error') ORDER BY id"""
# As the index of held calls has it: one that waits for a run ends with that.
LOST = """
    SELECT id, tenant_id, user_id, run_id, status, fence FROM tool_calls
    WHERE status IN ('claimed', 'running') AND waits_on_run IS NULL AND lease_until < now() LIMIT %s"""
_UNTAKEN = """
    SELECT id, tenant_id, user_id, tool_name FROM tool_calls
    WHERE status = 'queued' AND queued_at < now() - make_interval(secs => %s) ORDER BY queued_at LIMIT %s"""
# One that somebody holds locked is being worked on.
_LOCK_LOST = f"""
    SELECT {_ROW} FROM tool_calls
    WHERE id = %s AND status = %s AND fence = %s AND lease_until < now() AND waits_on_run IS NULL
    FOR UPDATE SKIP LOCKED"""


async def of_id(connection: Connection, call_id: uuid.UUID) -> ToolCall | None:
    """A call of the tenant's."""
    return await rows.one(connection, ToolCall, _OF_ID, [call_id])


async def one(connection: Connection, call_id: uuid.UUID, user_id: uuid.UUID) -> ToolCall | None:
    """A user's call; None when they have no such call."""
    return await rows.one(connection, ToolCall, _OF_USER, [call_id, user_id])


async def look(scope: TenantScope, call_id: uuid.UUID) -> ToolCall | None:
    """As `one`, in a transaction of its own and one round trip."""
    found: list[ToolCall] = await transactions.read(scope, _LOOK, [call_id, scope.user_id], ToolCall)
    return found[0] if found else None


async def alone(
    connection: Connection, user_id: uuid.UUID, origin: str, limit: int, before: uuid.UUID | None = None
) -> list[ToolCall]:
    """The user's calls without a run that came in this way, newest first, from those before the call `before` on."""
    return await rows.every(connection, ToolCall, _ALONE, [user_id, origin, before or _LAST, limit])


async def open_alone(connection: Connection, tenant_id: uuid.UUID, user_id: uuid.UUID) -> list[uuid.UUID]:
    """The user's calls without a run that are not final."""
    found = await connection.execute(_OPEN_ALONE, [tenant_id, user_id])
    return [row["id"] for row in await found.fetchall()]


async def lost(limit: int) -> list[Row]:
    """Calls of all tenants whose worker's lease has run out: id, tenant_id, user_id, run_id, status, fence."""
    return await transactions.fetch(LOST, [limit], login="system")


async def untaken(seconds: int, limit: int) -> list[Row]:
    """Calls of all tenants that have been queued for as long: id, tenant_id, user_id, tool_name."""
    return await transactions.fetch(_UNTAKEN, [seconds, limit], login="system")


async def lock_lost(connection: Connection, found: Row) -> ToolCall | None:
    """A call of `lost`, locked; None when it goes on after all, or somebody else has it."""
    return await rows.one(connection, ToolCall, _LOCK_LOST, [found["id"], found["status"], found["fence"]])
