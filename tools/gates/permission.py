"""The gate `permission`: do the user's role and grants, and the agent, reach as far as the tool's tier."""

from tools.gates.interface import ASKED, Candidate, Gate, GateContext, GateResult, Occasion
from tools.gates.policy import Policy
from tools.gates.refusals import DO_NOT_TRY, Words, agent_named
from tools.interface import Tool


class Permission(Gate):
    """A deny wins, then the agent's ceiling; an allow reaches beyond the role's; else the tier must be under it."""

    name = "permission"
    code = "permission_denied"
    passed = "This person may use it"
    refused = "This person may not use it"
    occasions = ASKED | {Occasion.LISTED}

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """By the member's policy at this moment."""
        tool, policy = candidate.known_tool, context.policy
        words = _refusal(tool, policy, context.caller.agent)
        if words is None:
            return self.passes(log="a grant allows it" if policy.granted(tool, "allow") else "")
        return self.refuses(model=words.to_model(DO_NOT_TRY), user=words.to_user(), log=words.log)


def _refusal(tool: Tool, policy: Policy, agent: str) -> Words | None:
    """Why this user may not use the tool, here; None when they may."""
    tier = policy.tier(tool)
    raised = "" if tier is tool.tier else f", raised from {tool.tier}"
    if policy.role is None:
        return Words(
            f"The user is not a member of this tenant any more, so {tool.name} may not be used.",
            "The operator can make them a member again (members in /admin/).",
            "the user is no longer a member of the tenant",
        )
    if policy.granted(tool, "deny"):
        return Words(
            f"A grant of this tenant denies {tool.name} to the user.",
            "An owner of the tenant can ask the operator to remove it (grants in /admin/).",
            "a grant denies it",
        )
    if policy.agent_ceiling is not None and tier.rank > policy.agent_ceiling.rank:
        return Words(
            f"{tool.name} has the tier {tier}{raised}, and the {agent_named(agent)} may use {policy.agent_ceiling} at "
            "most; no grant reaches beyond that.",
            "The operator can raise the agent's max tier (agents in /admin/), or another agent can be chosen.",
            f"{tier} is above what the agent may use, {policy.agent_ceiling}",
        )
    if not policy.granted(tool, "allow") and tier.rank > policy.ceiling.rank:
        return Words(
            f"{tool.name} has the tier {tier}{raised}, and the role {policy.role} may use {policy.ceiling} at most.",
            "An owner of the tenant can ask the operator for a grant (grants in /admin/).",
            f"{tier} is above the ceiling of the role {policy.role}, {policy.ceiling}",
        )
    return None
