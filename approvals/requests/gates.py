"""The gates that rules and humans stand at, and the order of all gates."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from approvals.rows import ApprovalRequest
from approvals.rules.evaluation import Effort, Rule
from audit.canonical import sha256_hex
from tools.gates import tool_gates
from tools.gates.policy import Policy
from tools.gates.tool_gates import Answer, Caller, Candidate, Gate
from tools.interface import Tier


def through(rules: Sequence[Rule]) -> tuple[Gate, ...]:
    """Every gate in order, for one judging of suggested calls: a rule approves no more of them than it has uses."""
    effort = Effort()
    return (
        tool_gates.allowlist,
        tool_gates.arguments,
        tool_gates.permission,
        denying(rules, effort),
        tool_gates.rate_limit,
        approving(rules, effort),
    )


def once_more(rules: Sequence[Rule], request: ApprovalRequest, counting: int) -> tuple[Gate, ...]:
    """The gates for a call that was approved and is about to go on.

    `counting` is how many of its approvers may decide now.
    """
    return (
        tool_gates.allowlist,
        binding(request),
        tool_gates.arguments,
        tool_gates.permission,
        denying(rules, Effort()),
        tool_gates.rate_limit,
        approved(request, counting),
    )


def denying(rules: Sequence[Rule], effort: Effort) -> Gate:
    """The gate `policy`: a deny rule that matches refuses the call, and so does one that cannot be decided."""

    def gate(candidate: Candidate, policy: Policy, caller: Caller) -> Answer:
        maybe = ""
        for rule in rules:
            if not rule.denies or not rule.concerns(candidate.name, caller.agent):
                continue
            if candidate.arguments is None and rule.condition is not None:
                maybe = f"the rule {rule.name} may deny it, by its arguments"
                continue
            matches = rule.matches(candidate.arguments, effort)
            if matches is not False:
                return _denied(candidate.name, rule, "" if matches else ", whose condition could not be decided")
        return Answer("policy", True, log=maybe)

    return gate


def _denied(name: str, rule: Rule, how: str) -> Answer:
    return Answer(
        "policy",
        False,
        "policy_denied",
        model=f"A rule of this tenant denies this call of {name}. Do not try it again with the same arguments.",
        user=f"A rule of your tenant denies this use of {name}. An owner can change the rules (/approvals/rules/).",
        log=f"denied by the rule {rule.name}{how}",
        rule=rule.id,
    )


def approving(rules: Sequence[Rule], effort: Effort) -> Gate:
    """The gate `approval`: an Elevated call that no rule approves is held until a human decides.

    A rule stands for one human: where several have to approve, none stands in.
    """
    used: Counter[str] = Counter()

    def gate(candidate: Candidate, policy: Policy, caller: Caller) -> Answer:
        tool = candidate.tool
        assert tool is not None
        if policy.tier(tool) is not Tier.ELEVATED:
            return Answer("approval", True)
        needed = policy.setting(tool).approvals_needed
        maybe = ""
        for rule in rules if needed == 1 else ():
            if rule.denies or not rule.concerns(tool.name, caller.agent):
                continue
            if rule.uses_left is not None and used[rule.id] >= rule.uses_left:
                continue
            if candidate.arguments is None and rule.condition is not None:
                maybe = f"; the rule {rule.name} may, by its arguments"
            elif rule.matches(candidate.arguments, effort):
                used[rule.id] += 1
                return Answer("approval", True, log=f"approved by the rule {rule.name}", rule=rule.id)
        raised = "" if tool.tier is Tier.ELEVATED else f"; it declares {tool.tier}"
        who = "a human has" if needed == 1 else f"{needed} humans have"
        why = f"{tool.name} is elevated{raised}: {who} to approve it{maybe}"
        return Answer("approval", True, holds=True, log=why)

    return gate


def binding(request: ApprovalRequest) -> Gate:
    """The gate `binding`: the call that goes on is the one that was approved, within its time."""

    def gate(candidate: Candidate, policy: Policy, caller: Caller) -> Answer:
        tool = candidate.tool
        assert tool is not None
        if (tool.name, caller.user_id) != (request.tool_name, request.user_id):
            return _unbound("What was approved is another call.")
        if sha256_hex(tool.parameters) != request.schema_hash:
            return _unbound(f"The parameters of {tool.name} have changed since the call was approved.")
        if sha256_hex(candidate.arguments) != request.params_hash:
            return _unbound("The arguments are not those that were approved.")
        if request.usable_until is None or datetime.now(UTC) > request.usable_until:
            return _unbound("The approval was not used in time.")
        return Answer("binding", True)

    return gate


def approved(request: ApprovalRequest, counting: int) -> Gate:
    """The gate `approval` of a call that goes on: enough of those who approved it may still decide."""

    def gate(candidate: Candidate, policy: Policy, caller: Caller) -> Answer:
        needed = request.approvals_needed
        if counting >= needed:
            return Answer("approval", True)
        why = (
            f"Somebody who approved this call of {candidate.name} may not decide about approvals any more, so it has "
            f"{counting} of the {needed} {'approval' if needed == 1 else 'approvals'} that it needs."
        )
        return Answer(
            "approval",
            False,
            "approval_denied",
            model=f"{why} It did not run. Call the tool again if it is still needed; a human will be asked anew.",
            user=f"{why} The call did not run.",
            log=f"{counting} of {needed} approvals count",
        )

    return gate


def _unbound(why: str) -> Answer:
    return Answer(
        "binding",
        False,
        "policy_denied",
        model=f"{why} It did not run. Call the tool again if it is still needed; a human will be asked anew.",
        user=f"{why} The call did not run.",
        log=why,
    )
