"""The gate `permission`: do the user's role and grants, and the agent, reach as far as the tool's tier."""

from tools.gates.interface import ASKED, Candidate, Gate, GateContext, GateResult, Occasion
from tools.gates.policy import Policy
from tools.gates.refusals import DO_NOT_TRY, Words, agent_named
from tools.interface import Tier, Tool

# How calls come in that belong to no run.
_ALONE = frozenset({"api", "mcp", "native"})


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
        # Without arguments the question is whether there is any call of it that the user may make.
        tier = policy.least_tier(tool) if candidate.arguments is None else context.tier(candidate)
        words = _without_run(tool, context.caller.origin) or _refusal(tool, tier, policy, context.caller.agent)
        if words is None:
            return self.passes(log="a grant allows it" if policy.granted(tool, "allow") else "")
        return self.refuses(model=words.to_model(DO_NOT_TRY), user=words.to_user(), log=words.log)


def _without_run(tool: Tool, origin: str) -> Words | None:
    """Why the tool may not be called without a run, if the call has none."""
    if "children" not in tool.handles or origin not in _ALONE:
        return None
    return Words(
        f"{tool.name} lets a run begin another one, and this call belongs to no run.",
        "Ask for it in a chat (POST /api/v1/chat, the chat page or /v1).",
        "a call without a run begins none",
    )


def _refusal(tool: Tool, tier: Tier, policy: Policy, agent: str) -> Words | None:
    """Why this user may not make calls of this tier, here; None when they may."""
    raised = "" if tier.rank <= tool.tier.rank else f", raised from {tool.tier}"
    if policy.role is None:
        return Words(
            f"The user is not a member of this tenant any more, so {tool.name} may not be used.",
            "An owner of the tenant can invite them again (/settings/people/).",
            "the user is no longer a member of the tenant",
        )
    if policy.granted(tool, "deny"):
        return Words(
            f"A grant of this tenant denies {tool.name} to the user.",
            "An owner of the tenant can take it away (/settings/tools/).",
            "a grant denies it",
        )
    if policy.agent_ceiling is not None and tier.rank > policy.agent_ceiling.rank:
        return Words(
            f"{tool.name} has the tier {tier}{raised}, and the {agent_named(agent)} may use {policy.agent_ceiling} at "
            "most; no grant reaches beyond that.",
            "An owner of the tenant can raise its max tier (/settings/agents/), or another agent can be chosen.",
            f"{tier} is above what the agent may use, {policy.agent_ceiling}",
        )
    if not policy.granted(tool, "allow") and tier.rank > policy.ceiling.rank:
        return Words(
            f"{tool.name} has the tier {tier}{raised}, and the role {policy.role} may use {policy.ceiling} at most.",
            "An owner of the tenant can give a grant (/settings/tools/).",
            f"{tier} is above the ceiling of the role {policy.role}, {policy.ceiling}",
        )
    return None
