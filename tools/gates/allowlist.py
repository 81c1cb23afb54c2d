"""The gate `allowlist`: does the tool exist, and do operator, tenant and agent let it be called at all."""

from tools.gates.interface import ASKED, Candidate, Gate, GateContext, GateResult, Occasion
from tools.gates.policy import Policy
from tools.gates.refusals import USE_OTHERS, Words, agent_named
from tools.interface import Tool


class Allowlist(Gate):
    """Unknown tools, and tools that the operator, the tenant or the agent does not list, are refused."""

    name = "allowlist"
    code = "not_allowed"
    passed = "The tool may be called here"
    refused = "The tool may not be called here"
    occasions = ASKED | {Occasion.LISTED}

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """By name alone; whose call it is and what it asks for comes later."""
        words = _refusal(ascii(candidate.name[:80]), candidate.tool, context.policy, context.caller.agent)
        if words is None:
            return self.passes()
        return self.refuses(model=words.to_model(USE_OTHERS), user=words.to_user(), log=words.log)


def _refusal(name: str, tool: Tool | None, policy: Policy, agent: str) -> Words | None:
    """Why the tool may not be called at all; None when it may. `name` is quoted as it can be shown."""
    if tool is None:
        return Words(f"There is no tool {name} here.", "", "unknown tool")
    if policy.operator_tools is not None and tool.name not in policy.operator_tools:
        return Words(
            f"{name} is not among the tools that the operator of this Toolgate allows.",
            "Only the operator can allow it (TOOLGATE_ALLOWED_TOOLS).",
            "not on the operator's allowlist",
        )
    if not policy.setting(tool).enabled:
        return Words(
            f"{name} is switched off for this tenant.",
            "The operator can switch it on (tool settings in /admin/).",
            "switched off by the tenant",
        )
    if policy.agent_tools is not None and tool.name not in policy.agent_tools:
        return Words(
            f"{name} is not among the tools of the {agent_named(agent)}.",
            "The operator can add it to the agent (agents in /admin/), or another agent can be chosen.",
            "not among the agent's tools",
        )
    return None
