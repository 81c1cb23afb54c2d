"""How a call goes on whose user has answered: through all the gates once more, bound to the tool that asked."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime

from approvals.questions import repository
from approvals.requests import callers_rights, votes
from approvals.requests import repository as requests
from approvals.requests.callers_rights import NO_AGENT
from approvals.requests.decisions import GRACE
from approvals.rows import AskedQuestion
from audit.calls import reading, recorder
from audit.calls.rows import ToolCall
from audit.canonical import sha256_hex
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.gates.interface import Approval, Caller, Rights
from tools.interface import Tier
from tools.invocation import evaluation, lookup
from tools.invocation.dispatch import dispatch
from tools.invocation.live import wakeups


async def resume(connection: Connection, call: ToolCall, known: Rights, caller: Caller) -> bool:
    """Use the answers of a run's call: True when it is queued now, False when a gate has refused it."""
    asked = await repository.take(connection, call.id)
    assert asked, "the answers are used in the transaction that moves their call on"
    return await _passed_on(connection, call, asked[0], known, caller)


async def go_on(scope: TenantScope, call_id: uuid.UUID) -> None:
    """Let a call without a run go on, in its user's scope; without effect when it has, or has a run."""
    async with transaction(scope) as connection:
        call = await reading.one(connection, call_id, scope.user_id)
        if call is None or call.run_id is not None:
            return
        asked = await repository.take(connection, call_id)
        if not asked:
            return
        known = await callers_rights.load(connection, scope.user_id, NO_AGENT)
        queued = await _passed_on(connection, call, asked[0], known, Caller(*scope, origin=call.origin))
    if queued:
        await dispatch([(*scope, call.id, call.tool_name)])
    await wakeups.publish(call_id)


async def _passed_on(
    connection: Connection, call: ToolCall, asked: AskedQuestion, known: Rights, caller: Caller
) -> bool:
    """Ask every gate once more, in the transaction that uses the answers; its limits are not charged twice."""
    approval = await _approval(connection, call, asked, known)
    answers, refusal = await evaluation.again(
        call.tool_name, call.arguments, known, replace(caller, charged=True), approval
    )
    shown = [answer.as_json() for answer in answers]
    if refusal is None:
        return await recorder.go_on(connection, call.id, shown)
    await recorder.refuse(connection, call, refusal, shown)
    return False


async def _approval(connection: Connection, call: ToolCall, asked: AskedQuestion, known: Rights) -> Approval:
    """What binds the call as it goes on: the tool as it was when it asked, and those who had approved the call.

    It was in time when it began. One that nobody had to approve needs an approval, and so cannot go on, when its tool
    has become Elevated since.
    """
    needed = counting = 0
    policy = known.policy
    found = await requests.find(connection, [call.approval_id]) if call.approval_id else []
    if found:
        [request] = found
        needed = request.approvals_needed
        counting = len(await votes.may_decide(connection, request, await votes.approvers(connection, request)))
    elif call.tier != Tier.ELEVATED:
        tool = lookup.known(policy, call.tool_name)
        needed = int(tool is not None and policy.tier_of(tool, call.arguments, policy.facts) is Tier.ELEVATED)
    return Approval(
        tool_name=call.tool_name,
        user_id=call.user_id,
        schema_hash=asked.binding,
        params_hash=sha256_hex(call.arguments),
        usable_until=datetime.now(UTC) + GRACE,
        approvals_needed=needed,
        counting=counting,
    )
