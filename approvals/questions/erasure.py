"""What goes of questions when the payloads of their calls go: the words, the answers and their hashes.

That somebody was asked, when, and whether they accepted, stays.
"""

import uuid
from typing import Any

from tenants.scope.transactions import Connection

_ERASE = """
    UPDATE questions SET key = '', message = '', schema = NULL, url = NULL, request = NULL, state = NULL,
        content = NULL, question_hash = '', content_hash = NULL
    WHERE {of_calls} AND question_hash <> ''"""


async def erase(connection: Connection, tenant_id: uuid.UUID, call_ids: list[uuid.UUID]) -> None:
    """Erase what is kept of the questions of these calls, which are final."""
    await _erase(connection, "tenant_id = %(tenant_id)s AND call_id = ANY(%(ids)s)", tenant_id=tenant_id, ids=call_ids)


async def erase_between(connection: Connection, tenant_ids: list[uuid.UUID], low: uuid.UUID, high: uuid.UUID) -> None:
    """Erase what is kept of the questions of all calls of these tenants whose ids lie in [low, high)."""
    of_calls = "tenant_id = ANY(%(tenant_ids)s) AND call_id >= %(low)s AND call_id < %(high)s"
    await _erase(connection, of_calls, tenant_ids=tenant_ids, low=low, high=high)


async def _erase(connection: Connection, of_calls: str, **values: Any) -> None:
    await connection.execute(_ERASE.format(of_calls=of_calls).encode(), values)
