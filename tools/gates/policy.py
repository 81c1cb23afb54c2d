"""What a tenant's settings, grants and agent say about tools, loaded once a turn in one query."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.conf import settings

from tools.interface import Tier, Tool

# May ask for anything; an Elevated call still waits for a human.
CEILING = Tier.ELEVATED
SPREAD = "..."

# The columns of a member's policy, and where they come from; %s is the user. Whoever adds columns composes them anew.
COLUMNS = """
    rights_version(t.id) AS rights_version, m.role, t.role_ceilings, t.default_tools,
    (SELECT jsonb_object_agg(s.tool_name,
        jsonb_build_array(s.enabled, s.rate, s.tier, s.approvals_needed, s.approval_hours)) FROM tool_settings s)
        AS settings,
    (SELECT jsonb_agg(jsonb_build_array(g.tool_name, g.effect)) FROM grants g
        WHERE (g.user_id IS NULL OR g.user_id = m.user_id) AND (g.role = '' OR g.role = m.role)) AS grants"""
SOURCE = "memberships m JOIN tenants t ON t.id = m.tenant_id WHERE m.user_id = %s"


class Setting(NamedTuple):
    """What a tenant says about one tool; `rate` and `tier` are empty where the tool's own stands."""

    enabled: bool = True
    rate: str = ""
    tier: str = ""
    approvals_needed: int = 1
    approval_hours: int = 24


@dataclass(frozen=True, slots=True)
class Policy:
    """One member's rights at one moment, under one agent. `agent_tools` None: every tool; `agent_ceiling` None: any.

    `service_tools` are those of the tenant's services by name, and `closed_tools` says of others why they cannot be
    called at the moment. `service_context` is what services put into prompts.
    """

    role: str | None
    ceiling: Tier
    agent_tools: frozenset[str] | None
    agent_ceiling: Tier | None
    settings: dict[str, Setting]
    grants: tuple[tuple[str, str], ...]
    operator_tools: frozenset[str] | None
    service_tools: Mapping[str, Tool] = field(default_factory=dict)
    closed_tools: Mapping[str, str] = field(default_factory=dict)
    service_context: tuple[Any, ...] = ()

    def setting(self, tool: Tool) -> Setting:
        """What the tenant says about the tool."""
        return self.settings.get(tool.name, Setting())

    def rate(self, tool: Tool) -> str:
        """How often this user may call the tool, such as "10/m"."""
        return self.setting(tool).rate or tool.rate

    def tier(self, tool: Tool) -> Tier:
        """The highest of what the tool declares, the operator says, and the tenant says: nobody lowers a tier."""
        raised = (settings.TOOLGATE_TOOL_TIERS.get(tool.name, ""), self.setting(tool).tier)
        if not any(raised):
            return tool.tier
        return max([tool.tier, *(Tier(tier) for tier in raised if tier)], key=lambda tier: tier.rank)

    def granted(self, tool: Tool, effect: str) -> bool:
        """Whether a grant of that effect names the tool, its service, or all tools."""
        return any((name, effect) in self.grants for name in (*names_of(tool), "*"))

    def operator_lists(self, tool: Tool) -> bool:
        """Whether the operator lets the tool be called."""
        return self.operator_tools is None or not self.operator_tools.isdisjoint(names_of(tool))

    def agent_lists(self, tool: Tool) -> bool:
        """Whether the tool is among the agent's."""
        return self.agent_tools is None or not self.agent_tools.isdisjoint(names_of(tool))


def names_of(tool: Tool) -> tuple[str, ...]:
    """What a list of tools may call it: its name, and `service.*` for all tools of its service."""
    service, dot, _ = tool.name.partition(".")
    return (tool.name, f"{service}.*") if dot else (tool.name,)


def from_row(row: dict[str, Any] | None, agent_tools: Any, agent_ceiling: str = "") -> Policy:
    """The policy out of a row of COLUMNS; without a row the user is no member, and may nothing."""
    operator = settings.TOOLGATE_ALLOWED_TOOLS
    operator_tools = None if operator is None else frozenset(operator)
    highest = Tier(agent_ceiling) if agent_ceiling else None
    if row is None:
        return Policy(None, Tier.READ_ONLY, None, highest, {}, (), operator_tools)
    ceiling = row["role_ceilings"].get(row["role"])
    return Policy(
        role=row["role"],
        ceiling=Tier(ceiling) if ceiling in set(Tier) else CEILING,
        agent_tools=_spread(agent_tools, row["default_tools"]),
        agent_ceiling=highest,
        settings={name: Setting(*values) for name, values in (row["settings"] or {}).items()},
        grants=tuple((name, effect) for name, effect in row["grants"] or ()),
        operator_tools=operator_tools,
    )


def _spread(agent_tools: Any, default_tools: list[str]) -> frozenset[str] | None:
    """An agent's tools: "all", or the names listed, "..." standing for the tenant's default ones; else none."""
    if agent_tools == "all":
        return None
    if not isinstance(agent_tools, list):
        return frozenset()
    publish = default_tools if SPREAD in agent_tools else []
    return frozenset(name for name in (*agent_tools, *publish) if name != SPREAD)
