"""The gate `allowlist`: does the tool exist, and do operator, tenant and agent let it be called at all."""

from tools.gates.interface import ASKED, Candidate, Gate, GateContext, GateResult, Occasion
from tools.gates.policy import Policy
from tools.gates.refusals import USE_OTHERS, Words, agent_named
from tools.interface import Tool

# What decisions record about a name that no tool has.
UNKNOWN = "unknown tool"


class Allowlist(Gate):
    """Unknown tools, and tools that the operator, the tenant or the agent does not list, are refused."""

    name = "allowlist"
    code = "not_allowed"
    passed = "The tool may be called here"
    refused = "The tool may not be called here"
    occasions = ASKED | {Occasion.LISTED}

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """By name alone; whose call it is and what it asks for comes later."""
        words = _closed(candidate, context.policy) or _refusal(
            ascii(candidate.name[:80]), candidate.tool, context.policy, context.caller.agent
        )
        if words is None:
            return self.passes()
        return self.refuses(model=words.to_model(USE_OTHERS), user=words.to_user(), log=words.log)


def _closed(candidate: Candidate, policy: Policy) -> Words | None:
    """Why a service's tool cannot be called at the moment, if it is one that cannot."""
    why = policy.closed_tools.get(candidate.name) if candidate.tool is None else None
    who = "An owner of the tenant can change that (/settings/services/)."
    return None if why is None else Words(f"{candidate.name} cannot be called: {why}.", who, why)


def _refusal(name: str, tool: Tool | None, policy: Policy, agent: str) -> Words | None:
    """Why the tool may not be called at all; None when it may. `name` is quoted as it can be shown."""
    if tool is None:
        return Words(f"There is no tool {name} here.", "", UNKNOWN)
    # One that is in no list only finds what is, or calls it through the gates.
    if tool.listed and not policy.operator_lists(tool):
        return Words(
            f"{name} is not among the tools that the operator of this Toolgate allows.",
            "Only the operator can allow it (TOOLGATE_ALLOWED_TOOLS).",
            "not on the operator's allowlist",
        )
    if not policy.setting(tool).enabled:
        return Words(
            f"{name} is switched off for this tenant.",
            "An owner of the tenant can switch it on (/settings/tools/).",
            "switched off by the tenant",
        )
    if tool.listed and not policy.agent_lists(tool):
        return Words(
            f"{name} is not among the tools of the {agent_named(agent)}.",
            "An owner of the tenant can add it to the agent (/settings/agents/), or another agent can be chosen.",
            "not among the agent's tools",
        )
    return None
