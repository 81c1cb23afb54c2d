"""The end of a child: the call that waited for it ends in the same commit.

It is fenced by the call's status alone: a call that was withdrawn meanwhile stays as it is. The parent's row is never
written: who takes the parent over finds what it is charged, and takes note of the end.
"""

from audit.calls import begun, taint
from gateway.runs.children import answers
from gateway.runs.rows import Run
from tenants.scope.transactions import Connection, TenantScope

# What it has used of its time with its own children, for its parent.
_CHARGE = """
    UPDATE runs SET unnoted = true, resumed_at = NULL, spent_ms = spent_ms + charged_ms(id)
        + coalesce(extract(epoch FROM now() - resumed_at) * 1000, 0)::bigint
    WHERE id = %s"""


async def settle(connection: Connection, run: Run, content: str) -> bool:
    """End the call that waits for a run which ended in this transaction, saying `content`; False when none does."""
    if run.parent_call_id is None:
        return False
    await connection.execute(_CHARGE, [run.id])
    call = await begun.waiting(connection, run.parent_call_id, run.id)
    if call is None:
        return False
    end = answers.ended(call, run, content)
    if not await begun.settle(connection, call, end.outcome):
        return False
    if not end.taints:
        return True
    scope = TenantScope(run.tenant_id, run.user_id)
    flowing = {"from_conversation": run.conversation_id, "to_conversation": call.conversation_id}
    await taint.flow(connection, scope, **flowing, to_run=run.parent_run_id)
    return True
