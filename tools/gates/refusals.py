"""What people are told when they may not use a tool: what refused it, and who can change that.

Settings, grants, agents and members are changed in /admin/, which is the operator's; owners ask the operator.
"""

from dataclasses import dataclass

from tools.gates.policy import Policy
from tools.interface import Tool

USE_OTHERS = "Use only the tools you were given."
DO_NOT_TRY = "Do not try again."


@dataclass(frozen=True, slots=True)
class Words:
    """One cause: `what` refused, `who` can change it (empty: nobody), and in a few words for the `log`."""

    what: str
    who: str
    log: str

    def to_user(self) -> str:
        """Both, for the person."""
        return f"{self.what} {self.who}".strip()

    def to_model(self, advice: str) -> str:
        """What to do, for the model."""
        told = f" Tell the user: {self.who}" if self.who else ""
        return f"{self.what} {advice}{told}"


def not_allowed(name: str, tool: Tool | None, policy: Policy, agent: str) -> Words | None:
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
            f"{name} is not among the tools of the {_agent(agent)}.",
            "The operator can add it to the agent (agents in /admin/), or another agent can be chosen.",
            "not among the agent's tools",
        )
    return None


def not_permitted(tool: Tool, policy: Policy, agent: str) -> Words | None:
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
            f"{tool.name} has the tier {tier}{raised}, and the {_agent(agent)} may use {policy.agent_ceiling} at most; "
            "no grant reaches beyond that.",
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


def _agent(slug: str) -> str:
    return f"agent {slug}" if slug else "agent"
