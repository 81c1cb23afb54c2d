"""Erasing what the built-in tools keep for a user."""

import uuid
from typing import Any

from psycopg import AsyncConnection

# By table, the column that says whose a row is: what somebody has stored for a whole tenant goes with them.
_TABLES = {"notes": "user_id", "tasks": "user_id", "memories": "author_id"}
_DELETE = """
    WITH gone AS (DELETE FROM {table} WHERE tenant_id = %s AND {column} = %s RETURNING 1) SELECT count(*) FROM gone
"""


async def erase_user(connection: AsyncConnection[Any], tenant_id: uuid.UUID, user_id: uuid.UUID) -> int:
    """Delete a user's notes, tasks and memories in the tenant; returns how many there were."""
    deleted = 0
    for table, column in _TABLES.items():
        # Counted by the query, since a pipeline does not count before somebody fetches.
        done = await connection.execute(_DELETE.format(table=table, column=column).encode(), (tenant_id, user_id))
        [count] = await done.fetchall()
        deleted += next(iter(count.values()))
    return deleted
