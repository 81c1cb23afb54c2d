"""The gate `approval`: does a human have to say yes first, and when one has, does that still count."""

from tools.gates.checks import taint
from tools.gates.interface import Approval, Candidate, Gate, GateContext, GateResult
from tools.gates.refusals import ASK_ANEW, DO_NOT_TRY, unheard
from tools.interface import Tier


class Approving(Gate):
    """An Elevated call that no rule approves is held until a human decides.

    A rule counts as one human: where several have to approve, no rule replaces them, and neither where the gate `taint`
    holds the call. A call that goes on needs enough
    approvers who may still decide.
    """

    name = "approval"
    code = "approval_denied"
    passed = "No approval is needed"
    refused = "It needs an approval"

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """Hold a new call that needs humans; count the approvals of one that goes on."""
        if context.approval is not None:
            return self._counted(candidate, context.approval)
        tool, policy = candidate.known_tool, context.policy
        if context.tier(candidate) is not Tier.ELEVATED:
            return self.passes()
        needed = policy.setting(tool).approvals_needed
        maybe = ""
        for rule in context.rules if needed == 1 and not taint.holds(candidate, context) else ():
            if rule.denies or not rule.concerns(tool.name, context.caller.agent):
                continue
            if rule.uses_left is not None and context.used[rule.id] >= rule.uses_left:
                continue
            if rule.binding not in ("", tool.binding):
                maybe = f"; the rule {rule.name} was made for what {tool.name} was before its definition changed"
                continue
            if candidate.arguments is None and rule.condition is not None:
                maybe = f"; the rule {rule.name} may, by its arguments"
            elif rule.matches(candidate.arguments, context.effort):
                context.used[rule.id] += 1
                return self.passes(log=f"approved by the rule {rule.name}", rule=rule.id)
        by_arguments = candidate.arguments is None and policy.least_tier(tool) is not Tier.ELEVATED
        if not policy.asks_humans and not by_arguments:
            words = unheard(tool.name)
            model = words.to_model(DO_NOT_TRY)
            return self.refuses(model=model, user=words.to_user(), log=words.log, code="permission_denied")
        if by_arguments:
            maybe += f"; its arguments say whether, and it is {policy.least_tier(tool)} at least"
        raised, facts = "" if tool.tier is Tier.ELEVATED else f"; it declares {tool.tier}", {}
        if taint.raises_tier(candidate, context):
            read, sources = taint.strangers_words(context.caller.taint)
            raised, facts = f"{raised}, since {read}", {"sources": sources}
        who = "a human has" if needed == 1 else f"{needed} humans have"
        return self.passes(holds=True, log=f"{tool.name} is elevated{raised}: {who} to approve it{maybe}", facts=facts)

    def _counted(self, candidate: Candidate, approval: Approval) -> GateResult:
        needed, counting = approval.approvals_needed, approval.counting
        if counting >= needed:
            return self.passes()
        why = (
            f"Somebody who approved this call of {candidate.name} may not decide about approvals any more, so it has "
            f"{counting} of the {needed} {'approval' if needed == 1 else 'approvals'} that it needs."
        )
        return self.refuses(
            model=f"{why} {ASK_ANEW}",
            user=f"{why} The call did not run.",
            log=f"{counting} of {needed} approvals count",
        )
