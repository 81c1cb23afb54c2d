"""How a call that was approved goes on: through all the gates once more, bound to what was approved."""

from dataclasses import replace
from typing import Any

from approvals.requests import repository, votes
from approvals.rows import ApprovalRequest
from audit.calls import recorder
from tenants.scope.transactions import Connection
from tools.gates.interface import Approval, Caller, Rights
from tools.invocation import evaluation

Row = dict[str, Any]


async def resume(connection: Connection, call: Row, rights: Rights, caller: Caller) -> bool:
    """Use the approval of a waiting call: True when the call is queued now, False when a gate has refused it.

    The answers stand in the call's `resumed_decision`; its limits are not charged twice.
    """
    request = await repository.take(connection, call["approval_id"])
    assert request is not None, "the approval is used in the transaction that moves its call on"
    counting = await votes.may_decide(connection, request, await votes.approvers(connection, request))
    arguments = call["input"] if call["approved_input"] is None else call["approved_input"]
    answers, refusal = await evaluation.again(
        call["tool_name"],
        arguments,
        rights,
        replace(caller, charged=True),
        _approval(request, len(counting)),
    )
    shown = [answer.as_json() for answer in answers]
    if refusal is None:
        return await recorder.resume(connection, call["id"], shown)
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
