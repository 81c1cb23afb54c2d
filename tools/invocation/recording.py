"""Recording calls that belong to no run, in one statement with the question whether their rights still hold."""

import uuid
from collections.abc import Sequence

from audit.calls import proposing
from audit.calls.proposing import NewCall, Place
from audit.calls.rows import ToolCall
from tenants.scope.functions import Function
from tenants.scope.transactions import Connection, TenantScope
from tools.gates.interface import Rights, RightsChanged

_PROPOSE = Function("propose_calls", bool, version="uuid", valid_until="timestamptz", calls="jsonb", entries="jsonb")


async def propose(
    connection: Connection | None,
    place: Place,
    calls: Sequence[NewCall],
    queued: frozenset[uuid.UUID],
    rights: Rights,
) -> list[ToolCall]:
    """Write calls as `proposing.propose` does, within the connection's transaction, or alone. Raises RightsChanged."""
    written, call_rows, entries = proposing.new_rows(place, calls, queued)
    [holds] = await _PROPOSE.on(
        connection,
        TenantScope(place.tenant_id, place.user_id),
        version=rights.version,
        valid_until=rights.valid_until,
        calls=call_rows,
        entries=entries,
    )
    if not holds:
        raise RightsChanged
    return written
