"""What a tenant's settings, grants and agent say about tools, loaded once a turn in one query."""

import uuid
from dataclasses import dataclass
from typing import Any

import psycopg
from django.conf import settings

from tools.interface import Tier, Tool

# May ask for anything; an Elevated call still waits for a human.
CEILING = Tier.ELEVATED
SPREAD = "..."

LOAD = """
    SELECT m.role, t.role_ceilings, t.default_tools,
        (SELECT jsonb_object_agg(s.tool_name, jsonb_build_array(s.enabled, s.rate)) FROM tool_settings s) AS settings,
        (SELECT jsonb_agg(jsonb_build_array(g.tool_name, g.effect)) FROM grants g
          WHERE (g.user_id IS NULL OR g.user_id = m.user_id) AND (g.role = '' OR g.role = m.role)) AS grants
    FROM memberships m JOIN tenants t ON t.id = m.tenant_id WHERE m.user_id = %s"""


@dataclass(frozen=True, slots=True)
class Policy:
    """One member's rights at one moment. `agent_tools` None: every tool; `settings`: tool → (enabled, rate or "")."""

    role: str | None
    ceiling: Tier
    agent_tools: frozenset[str] | None
    settings: dict[str, tuple[bool, str]]
    grants: tuple[tuple[str, str], ...]
    operator_tools: frozenset[str] | None

    def rate(self, tool: Tool) -> str:
        """How often this user may call the tool, such as "10/m"."""
        return self.settings.get(tool.name, (True, ""))[1] or tool.rate

    def granted(self, tool: Tool, effect: str) -> bool:
        """Whether a grant of that effect names the tool, or all tools."""
        return (tool.name, effect) in self.grants or ("*", effect) in self.grants


def from_row(row: dict[str, Any] | None, agent_tools: Any) -> Policy:
    """The policy out of a row of LOAD; without a row the user is no member, and may nothing."""
    operator = settings.TOOLGATE_ALLOWED_TOOLS
    operator_tools = None if operator is None else frozenset(operator)
    if row is None:
        return Policy(None, Tier.READ_ONLY, frozenset(), {}, (), operator_tools)
    ceiling = row["role_ceilings"].get(row["role"])
    return Policy(
        role=row["role"],
        ceiling=Tier(ceiling) if ceiling in set(Tier) else CEILING,
        agent_tools=_spread(agent_tools, row["default_tools"]),
        settings={name: (enabled, rate) for name, (enabled, rate) in (row["settings"] or {}).items()},
        grants=tuple((name, effect) for name, effect in row["grants"] or ()),
        operator_tools=operator_tools,
    )


def _spread(agent_tools: Any, default_tools: list[str]) -> frozenset[str] | None:
    """An agent's tools: "all", or the names listed, "..." standing for the tenant's default ones; else none."""
    if agent_tools == "all":
        return None
    if not isinstance(agent_tools, list):
        return frozenset()
    spread = default_tools if SPREAD in agent_tools else []
    return frozenset(name for name in (*agent_tools, *spread) if name != SPREAD)


async def load(connection: psycopg.AsyncConnection[dict[str, Any]], user_id: uuid.UUID, agent_tools: Any) -> Policy:
    """The policy as the database has it now, inside the tenant's walls."""
    return from_row(await (await connection.execute(LOAD, [user_id])).fetchone(), agent_tools)
