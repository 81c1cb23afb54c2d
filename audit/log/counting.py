"""Counts each settled call once, by the hour in which it ended: what charts read instead of the calls."""

import uuid
from collections.abc import Sequence

from audit.calls.ledger import Values
from audit.calls.recorder import Connection

# A call of at most so many milliseconds is counted in `ms_…`, and in none of those after it.
BOUNDS = (10, 30, 100, 300, 1000, 3000, 10000, 30000)
_COLUMNS = (
    *("calls", "succeeded", "refused", "failed", "timed", "total_ms"),
    *(f"ms_{bound}" for bound in BOUNDS),
    "ms_more",
)
_BETWEEN = ", ".join(
    f"count(*) FILTER (WHERE ms > {low} AND ms <= {high})"
    for low, high in zip((-1, *BOUNDS), (*BOUNDS, 2**31), strict=True)
)
# A call that never ran has no time. The bounds let PostgreSQL look into the partitions of these calls only.
_COUNT = f"""
    INSERT INTO tool_call_counts AS held (tenant_id, user_id, hour, tool_name, {", ".join(_COLUMNS)})
    SELECT tenant_id, user_id, hour, name, count(*), count(*) FILTER (WHERE status = 'success'),
        count(*) FILTER (WHERE status = 'error' AND ms IS NULL),
        count(*) FILTER (WHERE status = 'error' AND ms IS NOT NULL),
        count(ms), coalesce(sum(ms), 0), {_BETWEEN}
    FROM (SELECT tenant_id, user_id, date_trunc('hour', finished_at, 'UTC') AS hour, status, execution_time_ms AS ms,
            CASE WHEN tier IS NULL THEN '' ELSE tool_name END AS name
        FROM tool_calls
        WHERE id = ANY(%(ids)s) AND id BETWEEN %(low)s AND %(high)s AND finished_at IS NOT NULL) AS settled
    GROUP BY GROUPING SETS ((tenant_id, hour, name, user_id), (tenant_id, hour, name))
    ON CONFLICT (tenant_id, user_id, hour, tool_name)
    DO UPDATE SET {", ".join(f"{name} = held.{name} + EXCLUDED.{name}" for name in _COLUMNS)}"""


async def count(connection: Connection, entries: Sequence[Values]) -> None:
    """Add the calls that these entries settle, in the transaction that seals the entries."""
    ids: list[uuid.UUID] = [entry["call_id"] for entry in entries if entry["kind"] == "settled"]
    if ids:
        await connection.execute(_COUNT.encode(), {"ids": ids, "low": min(ids), "high": max(ids)})
