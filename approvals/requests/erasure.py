"""What goes of approvals when the payloads of their calls go: the conversation, the words, the hashes, the edits.

Who asked, who decided what and when stays, and whether a decision counted.
"""

import uuid
from typing import Any

from tenants.scope.transactions import Connection

# Whether a decision `d` about a request `r` counted: it was about the last revision, by somebody who might decide.
COUNTED = "d.revision = r.revision AND (r.approved_by IS NULL OR d.user_id = ANY(r.approved_by))"
# The decisions first: the request's hash says whether it has been erased.
_DECISIONS = f"""
    UPDATE approval_decisions d SET reason = '', edit = NULL,
        params_hash = CASE WHEN {COUNTED} THEN '' ELSE d.id::text END
    FROM approval_requests r WHERE r.id = d.request_id AND {{of_calls}} AND r.params_hash <> ''"""
_REQUESTS = """
    UPDATE approval_requests r SET context = '[]', why = '', params_hash = ''
    WHERE {of_calls} AND r.params_hash <> ''"""


async def erase(connection: Connection, tenant_id: uuid.UUID, call_ids: list[uuid.UUID]) -> None:
    """Erase what is kept of the approvals of these calls, which are final."""
    await _erase(
        connection, "r.tenant_id = %(tenant_id)s AND r.call_id = ANY(%(ids)s)", tenant_id=tenant_id, ids=call_ids
    )


async def erase_between(connection: Connection, tenant_ids: list[uuid.UUID], low: uuid.UUID, high: uuid.UUID) -> None:
    """Erase what is kept of the approvals of all calls of these tenants whose ids lie in [low, high)."""
    of_calls = "r.tenant_id = ANY(%(tenant_ids)s) AND r.call_id >= %(low)s AND r.call_id < %(high)s"
    await _erase(connection, of_calls, tenant_ids=tenant_ids, low=low, high=high)


async def _erase(connection: Connection, of_calls: str, **values: Any) -> None:
    for statement in (_DECISIONS, _REQUESTS):
        await connection.execute(statement.format(of_calls=of_calls).encode(), values)
