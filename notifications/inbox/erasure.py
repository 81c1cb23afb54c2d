"""Erasing what a person was told, and what was sent in their name and where."""

import uuid

from tenants.scope.transactions import Connection

# What was sent goes before what it was sent to.
_TABLES = ("inbox_entries", "sent_messages", "destinations", "reminders")
_DELETE = """
    WITH gone AS (DELETE FROM {table} WHERE tenant_id = %s AND user_id = %s RETURNING 1) SELECT count(*) FROM gone
"""


async def erase_user(connection: Connection, tenant_id: uuid.UUID, user_id: uuid.UUID) -> int:
    """Delete what is a person's in the tenant, in a transaction of theirs; returns how many rows there were."""
    deleted = 0
    for table in _TABLES:
        # Counted by the query, since a pipeline does not count before somebody fetches.
        done = await connection.execute(_DELETE.format(table=table).encode(), (tenant_id, user_id))
        [count] = await done.fetchall()
        deleted += next(iter(count.values()))
    return deleted
