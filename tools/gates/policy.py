"""What a tenant's settings, grants and agent say about tools, loaded once a turn in one query."""

import logging
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

from django.conf import settings

from tenants.switches.on import Switch
from tools.interface import CallFacts, Tier, Tool

log = logging.getLogger(__name__)

# May ask for anything; an Elevated call still waits for a human.
CEILING = Tier.ELEVATED
SPREAD = "..."

# The columns of a member's policy, and where they come from; %s is the user. Whoever adds columns composes them anew.
COLUMNS = """
    rights_version(t.id) AS rights_version, switches_on() AS switches, m.user_id AS member_id, m.role,
    t.role_ceilings, t.default_tools, t.taint, t.fetch_hosts,
    (SELECT jsonb_object_agg(s.tool_name,
        jsonb_build_array(s.enabled, s.rate, s.tier, s.approvals_needed, s.approval_seconds)) FROM tool_settings s)
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
    approval_seconds: int = 86_400


class ConnectionState(NamedTuple):
    """How far a user has connected to a service: "none", "connected" or "ended"; `until`, in seconds since 1970, where
    the connection ends by itself."""

    state: str
    until: float | None = None

    def is_over(self, now: float) -> bool:
        """Whether it has ended by itself."""
        return self.until is not None and self.until <= now


@dataclass(frozen=True, slots=True)
class Policy:
    """One member's rights at one moment, under one agent. `agent_tools` None: every tool; `agent_ceiling` None: any.

    `service_tools` are those of the tenant's services by name, and `closed_tools` says of others why they cannot be
    called at the moment. `service_context` is what services put into prompts. `connections` has the services that are
    called in the user's own name. `conditions` are the tenant's (`tenant_rules.Condition`), and `alert_level`
    is 0 when all is well. `switches` are the kill switches that were on, and `member_id` is whose rights they are.
    `facts` are what tiers of calls go by.
    `taint` is what becomes of a call that the gate `taint` finds.
    `asks_humans`: somebody hears what has to be approved. `agents` are those that the agent may give tasks to by
    functions of their own: their names by their slugs.
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
    connections: Mapping[str, ConnectionState] = field(default_factory=dict)
    conditions: tuple[Any, ...] = ()
    alert_level: int = 0
    switches: tuple[Switch, ...] = ()
    member_id: uuid.UUID | None = None
    facts: CallFacts = field(default_factory=CallFacts)
    taint: str = "ask"
    asks_humans: bool = True
    agents: Mapping[str, str] = field(default_factory=dict)
    # What was worked out of it and cannot change while it holds; another policy begins without.
    derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def holds_by_taint(self) -> bool:
        """Whether the tenant has calls held or refused because of what their session has read."""
        return self.taint not in ("off", "observe")

    def setting(self, tool: Tool) -> Setting:
        """What the tenant says about the tool."""
        return self.settings.get(tool.name, Setting())

    def rate(self, tool: Tool) -> str:
        """How often this user may call the tool, such as "10/m"."""
        return self.setting(tool).rate or tool.rate

    def tier(self, tool: Tool) -> Tier:
        """The highest of what the tool declares, the operator says, and the tenant says: nobody lowers a tier."""
        return effective_tier(tool, self.setting(tool).tier)

    def least_tier(self, tool: Tool) -> Tier:
        """The lowest tier that a call of the tool can have."""
        return effective_tier(tool, self.setting(tool).tier, tool.least_tier)

    def tier_of(self, tool: Tool, arguments: Any, facts: CallFacts) -> Tier:
        """The tier of one call; as `tier` where there are no arguments, or the tool cannot decide."""
        return effective_tier(tool, self.setting(tool).tier, _own_tier(tool, arguments, facts))

    def granted(self, tool: Tool, effect: str) -> bool:
        """Whether a grant of that effect names the tool, its service, or all tools."""
        # Asked of each of hundreds of tools, wherever they are listed.
        return bool(self.grants) and any((name, effect) in self.grants for name in (*names_of(tool), "*"))

    def operator_lists(self, tool: Tool) -> bool:
        """Whether the operator lets the tool be called."""
        return self.operator_tools is None or not self.operator_tools.isdisjoint(names_of(tool))

    def agent_lists(self, tool: Tool) -> bool:
        """Whether the tool is among the agent's."""
        return self.agent_tools is None or not self.agent_tools.isdisjoint(names_of(tool))


def effective_tier(tool: Tool, said: str = "", own: Tier | None = None) -> Tier:
    """The highest of what the tool declares, or has for a call (`own`), the operator says, and a tenant says of it;
    empty: nothing."""
    own = own or tool.tier
    raised = (settings.TOOLGATE_TOOL_TIERS.get(tool.name, ""), said)
    if not any(raised):
        return own
    return max([own, *(Tier(tier) for tier in raised if tier)], key=lambda tier: tier.rank)


def _own_tier(tool: Tool, arguments: Any, facts: CallFacts) -> Tier:
    """What the tool says of the call, within what it declares; the declared tier where it does not say."""
    if tool.least_tier is None or not isinstance(arguments, Mapping):
        return tool.tier
    try:
        found = tool.tier_of(arguments, facts)
    except Exception:
        log.exception("a tool cannot say the tier of its call", extra={"tool": tool.name})
        return tool.tier
    said = isinstance(found, Tier) and tool.least_tier.rank <= found.rank <= tool.tier.rank
    return found if said and found is not None else tool.tier


def names_of(tool: Tool) -> tuple[str, ...]:
    """What a list of tools may call it: its name, and `service.*` for all tools of its service."""
    service, dot, _ = tool.name.partition(".")
    return (tool.name, f"{service}.*") if dot else (tool.name,)


def from_row(
    row: dict[str, Any] | None, agent_tools: Any, agent_ceiling: str = "", within: Iterable[Any] = ()
) -> Policy:
    """The policy out of a row of COLUMNS; without a row the user is no member, and may nothing. `within` are the tools
    of the agents above the agent, in whose names it calls."""
    operator = settings.TOOLGATE_ALLOWED_TOOLS
    operator_tools = None if operator is None else frozenset(operator)
    highest = Tier(agent_ceiling) if agent_ceiling else None
    if row is None:
        return Policy(None, Tier.READ_ONLY, None, highest, {}, (), operator_tools)
    ceiling = row["role_ceilings"].get(row["role"])
    return Policy(
        role=row["role"],
        ceiling=Tier(ceiling) if ceiling in set(Tier) else CEILING,
        agent_tools=reduce(_both, (_spread(tools, row["default_tools"]) for tools in (agent_tools, *within))),
        agent_ceiling=highest,
        settings={name: Setting(*values) for name, values in (row["settings"] or {}).items()},
        grants=tuple((name, effect) for name, effect in row["grants"] or ()),
        operator_tools=operator_tools,
        switches=tuple(Switch.of(each) for each in row["switches"] or ()),
        member_id=row["member_id"],
        taint=row["taint"],
        # Who asks about a role in general does not ask for them: then they are not known.
        facts=CallFacts(fetch_hosts=tuple(row["fetch_hosts"]) if "fetch_hosts" in row else None),
    )


def _both(some: frozenset[str] | None, others: frozenset[str] | None) -> frozenset[str] | None:
    """What two lists of tools both have; None: all. A list with `service.*` has each tool of the service."""
    if some is None or others is None:
        return others if some is None else some
    return frozenset(name for name in some if _has(others, name)) | frozenset(
        name for name in others if _has(some, name)
    )


def _has(names: frozenset[str], name: str) -> bool:
    service, dot, _ = name.partition(".")
    return name in names or (bool(dot) and f"{service}.*" in names)


def _spread(agent_tools: Any, default_tools: list[str]) -> frozenset[str] | None:
    """An agent's tools: "all", or the names listed, "..." standing for the tenant's default ones; else none."""
    if agent_tools == "all":
        return None
    if not isinstance(agent_tools, list):
        return frozenset()
    publish = default_tools if SPREAD in agent_tools else []
    return frozenset(name for name in (*agent_tools, *publish) if name != SPREAD)
