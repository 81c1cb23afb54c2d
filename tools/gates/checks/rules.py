"""The gate `policy`: does a rule of the tenant deny the call."""

from tools.gates.interface import Candidate, Gate, GateContext, GateResult
from tools.gates.tenant_rules import Rule


class Rules(Gate):
    """A deny rule that matches refuses the call, and so does one that cannot be decided."""

    name = "policy"
    code = "policy_denied"
    passed = "No rule forbids it"
    refused = "A rule forbids it"

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """The first rule that denies it."""
        maybe = ""
        for rule in context.rules:
            if not rule.denies or not rule.concerns(candidate.name, context.caller.agent):
                continue
            if candidate.arguments is None and rule.condition is not None:
                maybe = f"the rule {rule.name} may deny it, by its arguments"
                continue
            matches = rule.matches(candidate.arguments, context.effort)
            if matches is not False:
                return self._denied(candidate.name, rule, "" if matches else ", whose condition could not be decided")
        return self.passes(log=maybe)

    def _denied(self, name: str, rule: Rule, how: str) -> GateResult:
        return self.refuses(
            model=f"A rule of this tenant denies this call of {name}. Do not try it again with the same arguments.",
            user=f"A rule of your tenant denies this use of {name}. An owner can change the rules (/approvals/rules/).",
            log=f"denied by the rule {rule.name}{how}",
            rule=rule.id,
        )
