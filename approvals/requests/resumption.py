"""How a call that was approved goes on: through all the gates once more, bound to what was approved."""

import uuid
from dataclasses import replace

from approvals.requests import callers_rights, repository, votes
from approvals.requests.callers_rights import NO_AGENT
from approvals.rows import ApprovalRequest
from audit.calls import reading, recorder
from audit.calls.rows import ToolCall
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.gates.interface import Approval, Caller, Rights
from tools.invocation import evaluation
from tools.invocation.dispatch import dispatch
from tools.invocation.live import wakeups


async def resume(connection: Connection, call: ToolCall, known: Rights, caller: Caller) -> bool:
    """Use the approval of a run's waiting call: True when the call is queued now, False when a gate has refused it."""
    request = await repository.take(connection, call.approval_id) if call.approval_id else None
    assert request is not None, "the approval is used in the transaction that moves its call on"
    return await _passed_on(connection, call, request, known, caller)


async def go_on(scope: TenantScope, request_id: uuid.UUID) -> None:
    """Let an approved call without a run go on, in its user's scope; without effect when it has, or has a run."""
    async with transaction(scope) as connection:
        request = await repository.take(connection, request_id, alone=True)
        if request is None:
            return
        call = await reading.one(connection, request.call_id, request.user_id)
        assert call is not None, "a call stays as long as its request"
        known = await callers_rights.load(connection, request.user_id, NO_AGENT)
        queued = await _passed_on(connection, call, request, known, Caller(*scope, origin=call.origin))
    if queued:
        await dispatch([(*scope, call.id, call.tool_name)])
    await wakeups.publish(call.id)


async def _passed_on(
    connection: Connection, call: ToolCall, request: ApprovalRequest, known: Rights, caller: Caller
) -> bool:
    """Ask every gate once more, in the transaction that uses the approval.

    The answers are in the call's `resumed_decision`; its limits are not charged twice.
    """
    counting = await votes.may_decide(connection, request, await votes.approvers(connection, request))
    answers, refusal = await evaluation.again(
        call.tool_name,
        call.arguments,
        known,
        replace(caller, charged=True),
        _approval(request, len(counting)),
    )
    shown = [answer.as_json() for answer in answers]
    if refusal is None:
        return await recorder.resume(connection, call.id, shown)
    await recorder.refuse(connection, call, refusal, shown)
    return False


def _approval(request: ApprovalRequest, counting: int) -> Approval:
    """A request that was approved, as the gates go by it."""
    assert request.usable_until is not None
    return Approval(
        tool_name=request.tool_name,
        user_id=request.user_id,
        schema_hash=request.schema_hash,
        params_hash=request.params_hash,
        usable_until=request.usable_until,
        approvals_needed=request.approvals_needed,
        counting=counting,
    )
