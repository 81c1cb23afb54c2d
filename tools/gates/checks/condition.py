"""The gate `condition`: are the tenant's access conditions met, by the arguments and what else is known of the call."""

from typing import Any

from tools.gates.checks import context as facts
from tools.gates.interface import ASKED, Candidate, Gate, GateContext, GateResult, Occasion
from tools.gates.tenant_rules import Condition


class Conditions(Gate):
    """Every condition that is about the tool has to be met; one that cannot be decided is not.

    In lists there are no arguments: a condition that looks at them hides nothing there.
    """

    name = "condition"
    code = "policy_denied"
    passed = "The tenant's conditions are met"
    refused = "A condition of the tenant is not met"
    occasions = ASKED | {Occasion.LISTED}

    def concerns(self, candidate: Candidate, context: GateContext) -> bool:
        """Whether the tenant has any about this tool."""
        agent, name = context.caller.agent, candidate.name
        return any(each.concerns(name, agent) for each in context.policy.conditions)

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """The first condition that is not met; the facts that decided are recorded with the answer."""
        known: dict[str, Any] = {}
        versions: dict[str, int] = {}
        maybe = ""
        for each in context.policy.conditions:
            if not each.concerns(candidate.name, context.caller.agent):
                continue
            if candidate.arguments is None and facts.looks_at_arguments(each.condition):
                maybe = f"the condition {each.name} may refuse it, by its arguments"
                continue
            versions[each.id] = each.version
            asked = _facts(candidate, context, each)
            known = known or asked or {}
            met = None if asked is None else context.effort.satisfies(each.condition, _value(candidate, asked))
            if met is not True:
                how = "" if met is False else ", which could not be decided"
                return self._refused(candidate.name, each, how, asked or {}, versions)
        return self.passes(log=maybe, facts=_recorded(known, versions))

    def _refused(
        self, name: str, condition: Condition, how: str, known: dict[str, Any], versions: dict[str, int]
    ) -> GateResult:
        said = condition.name
        return self.refuses(
            model=f"{name} may not be called now: the condition “{said}” of this tenant is not met{how}. "
            "Do not try again in this run unless something has changed.",
            user=f"{name} did not run: the condition “{said}” of your tenant is not met{how}. An owner can change "
            "conditions (/api/v1/access-conditions/).",
            log=f"the condition {said} is not met{how}",
            rule=condition.id,
            facts=_recorded(known, versions),
        )


def _facts(candidate: Candidate, context: GateContext, condition: Condition) -> dict[str, Any] | None:
    """What is known of the call, in the condition's time zone; None when the zone is none."""
    try:
        moment = facts.at(context.now, condition.time_zone)
    except (ValueError, KeyError, OSError):
        return None
    policy, caller = context.policy, context.caller
    return {
        **moment,
        "agent": caller.agent,
        "origin": caller.origin,
        "role": policy.role or "",
        "tool": candidate.name,
        "tier": context.tier(candidate).value,
        "alert_level": policy.alert_level,
    }


def _value(candidate: Candidate, known: dict[str, Any]) -> dict[str, Any]:
    return {"context": known} if candidate.arguments is None else {"args": candidate.arguments, "context": known}


def _recorded(known: dict[str, Any], versions: dict[str, int]) -> dict[str, Any]:
    return {"context": known, "conditions": versions} if versions else {}
