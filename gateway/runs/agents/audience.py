"""Who may use a tool of a service, by agent and role, found by the gates that decide what models are offered."""

import uuid
from typing import Any

from gateway.models import Agent
from services import queries
from services.web import audience
from services.web.audience import AgentAudience, Audience
from tenants.models import Role, Tenant
from tenants.switches import reading
from tenants.switches.on import Subject, killed
from tools.gates import policy
from tools.interface import Tool
from tools.invocation import evaluation
from tools.models import Grant, ToolSetting
from tools.registry import registry

# More agents are not looked at.
MOST = 200


def find(tenant_id: uuid.UUID, tool_name: str) -> Audience:
    """By the tenant's rows, in the caller's scope: six statements; grants of single people are listed apart."""
    tool = registry().get(tool_name) or queries.tool(tenant_id, tool_name)
    if tool is None:
        return Audience()
    names = (*policy.names_of(tool), "*")
    grants = list(Grant.objects.filter(tool_name__in=names).select_related("user").order_by("tool_name", "effect"))
    settings = ToolSetting.objects.filter(tool_name=tool_name).values_list(
        "tool_name", "enabled", "rate", "tier", "approvals_needed", "approval_seconds"
    )
    said = {name: values for name, *values in settings}
    tenant = Tenant.objects.get(pk=tenant_id)
    switches = reading.on_now()
    agents = Agent.objects.filter(archived_at=None).order_by("-is_default", "slug")[:MOST]
    found = []
    for agent in agents:
        row = {"role_ceilings": tenant.role_ceilings, "default_tools": tenant.default_tools, "settings": said}
        row["taint"] = tenant.taint
        # Of roles, and of nobody in particular.
        row |= {"switches": None, "member_id": None}
        stopped = killed(switches, Subject(None, agent=agent.slug, tool=tool_name))
        if stopped is not None:
            found.append(AgentAudience(agent.slug, agent.name, [], stopped.what))
        else:
            found.append(_of_agent(agent, tool, row, [each for each in grants if each.user_id is None]))
    personal = [(each.user.username, each.effect, each.tool_name) for each in grants if each.user is not None]
    return Audience(found, personal)


def _of_agent(agent: Agent, tool: Tool, row: dict[str, Any], grants: list[Grant]) -> AgentAudience:
    roles, why = [], ""
    for role in Role.values:
        for_role = [(each.tool_name, each.effect) for each in grants if each.role in ("", role)]
        member = policy.from_row({**row, "role": role, "grants": for_role}, agent.tools, agent.max_tier)
        refused = evaluation.refused_when_listed(tool, member, agent.slug)
        if refused is None:
            roles.append(role)
        else:
            why = why or refused.user
    return AgentAudience(agent.slug, agent.name, roles, why)


audience.register(find)
