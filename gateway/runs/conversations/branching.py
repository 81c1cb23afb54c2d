"""Branches of conversations: new ones that go on from what was said in another."""

import uuid

from audit.calls import taint
from gateway.runs.errors import NoSuchConversation, NoSuchRun, RunNotOver
from tenants.scope.transactions import TenantScope, transaction

_LONGEST_TITLE = 200
_PARENT = "SELECT title, branched_at FROM conversations WHERE id = %s AND user_id = %s FOR SHARE"
_FROM_RUN = "SELECT id, status, finished_at IS NOT NULL AS is_over FROM runs WHERE id = %s AND conversation_id = %s"
_FROM_LAST = """
    SELECT id, true AS is_over FROM runs WHERE conversation_id = %s AND finished_at IS NOT NULL
    ORDER BY created_at DESC LIMIT 1"""
_INSERT = """
    INSERT INTO conversations (id, tenant_id, user_id, title, kind, parent_id, branched_at)
    VALUES (%s, %s, %s, %s, 'branch', %s, %s)"""


async def branch(
    scope: TenantScope, conversation_id: uuid.UUID, *, run_id: uuid.UUID | None = None, title: str = ""
) -> uuid.UUID:
    """Begin a conversation that knows what was said in one of the user's up to a run of it, or its last that is over;
    the new one's id. What was read there counts as read here. Raises NoSuchConversation, NoSuchRun, RunNotOver.
    """
    branch_id = uuid.uuid4()
    async with transaction(scope) as connection:
        parent = await (await connection.execute(_PARENT, [conversation_id, scope.user_id])).fetchone()
        if parent is None:
            raise NoSuchConversation(conversation_id)
        if run_id is None:
            found = await (await connection.execute(_FROM_LAST, [conversation_id])).fetchone()
        else:
            found = await (await connection.execute(_FROM_RUN, [run_id, conversation_id])).fetchone()
            if found is None:
                raise NoSuchRun(run_id)
            if not found["is_over"]:
                status = "in_progress" if found["status"] == "waiting" else found["status"]
                raise RunNotOver(run_id, status, "The conversation can be branched from it once it is.")
        # A branch without runs of its own goes on from where it began.
        branched_at = found["id"] if found else parent["branched_at"]
        title = title or f"{parent['title'][: _LONGEST_TITLE - 9]} (branch)".strip()
        await connection.execute(_INSERT, [branch_id, *scope, title, conversation_id, branched_at])
        await taint.flow(connection, scope, from_conversation=conversation_id, to_conversation=branch_id, to_run=None)
    return branch_id
