"""Ends what members who left have under way: nobody is in the tenant any more in whose name it would go on."""

from typing import Any

from gateway.runs.lifecycle import stopping
from gateway.schedules import firing
from tenants.members import departures
from tenants.scope.transactions import TenantScope, transaction
from tools.invocation import invoke

_RUNS = """
    SELECT id FROM runs WHERE tenant_id = %s AND user_id = %s AND created_at <= %s
        AND status IN ('in_progress', 'waiting', 'requires_action') ORDER BY id"""
_CALLS = """
    SELECT id FROM tool_calls WHERE tenant_id = %s AND user_id = %s AND created_at <= %s AND run_id IS NULL
        AND status NOT IN ('success', 'error') ORDER BY id"""


async def end(departure: dict[str, Any]) -> None:
    """Pause the member's schedules, cancel their open runs, and their calls without a run that nobody has begun; what
    runs ends by itself."""
    scope = TenantScope(departure["tenant_id"], departure["user_id"])
    of_member = [*scope, departure["left_at"]]
    async with transaction(scope) as connection:
        await firing.pause_all(connection, scope, departure["left_at"])
        runs = await (await connection.execute(_RUNS, of_member)).fetchall()
        calls = await (await connection.execute(_CALLS, of_member)).fetchall()
    for row in runs:
        await stopping.cancel(scope, row["id"])
    for row in calls:
        await invoke.cancel(scope, row["id"])
    await departures.done(departure)
