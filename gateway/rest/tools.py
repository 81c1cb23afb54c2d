"""The tools that the caller may use, over REST."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.requests import rights
from gateway.rest import tool_serializers
from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.schema import refusals
from gateway.runs import repository
from gateway.runs.errors import InvalidRequest, NoSuchAgent
from tenants.scope.transactions import transaction
from tools import definitions
from tools.gates.interface import Caller, Rights
from tools.invocation import evaluation, lookup

STYLES = {
    "openai": definitions.openai,
    "anthropic": definitions.anthropic,
    "gemini": definitions.gemini,
    "mcp": definitions.mcp,
}
_AGENT = OpenApiParameter("agent", str, description="An agent's slug; default: the tenant's default agent.")


class _ToolsView(AsyncView):
    scope = "tools:read"

    async def rights(self, request: Request) -> tuple[Rights, str]:
        """The caller's rights under the agent that the query names, and that agent's slug."""
        agent = request.query_params.get("agent")
        async with transaction(self.tenant_scope) as connection:
            row = (
                None
                if agent and "\x00" in agent
                else await repository.context(connection, self.tenant_scope.user_id, agent)
            )
        if row is None or row["agent_id"] is None:
            raise NoSuchAgent(agent)
        return rights.from_row(row, row), row["slug"]


class ToolListView(_ToolsView):
    """The caller's tools."""

    @extend_schema(
        operation_id="list_tools",
        parameters=[
            OpenApiParameter("style", str, enum=list(STYLES), description="As this provider wants them."),
            _AGENT,
        ],
        responses={200: tool_serializers.ToolList, **refusals(InvalidRequest, NoSuchAgent)},
    )
    async def get(self, request: Request) -> Response:
        """Name, description, parameters, tier and rate limit of each; or with `?style=` a provider's definitions."""
        policy = (await self.rights(request))[0].policy
        offered = evaluation.offered(policy)
        style = request.query_params.get("style")
        if style is not None:
            if style not in STYLES:
                raise InvalidRequest(f"style must be one of {', '.join(STYLES)}.", "style")
            return Response({"tools": STYLES[style]([tool.spec for tool in offered])})
        described: list[dict[str, Any]] = [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "tier": policy.tier(tool).value,
                "rate_limit": policy.rate(tool),
                "parallel_safe": tool.parallel_safe,
            }
            for tool in offered
        ]
        return Response({"tools": described})


class ToolAccessView(_ToolsView):
    """May I call it, and if not, why."""

    @extend_schema(
        operation_id="get_tool_access",
        parameters=[_AGENT],
        responses={200: tool_serializers.ToolAccess, **refusals(NoSuchAgent)},
    )
    async def get(self, request: Request, name: str) -> Response:
        """Gate by gate; nothing is counted."""
        found, agent = await self.rights(request)
        tool = lookup.known(found.policy, name)
        if tool is None:
            why = found.policy.closed_tools.get(name)
            raise NotFound(f"{name} cannot be called: {why}." if why else "There is no such tool.")
        caller = Caller(*self.tenant_scope, agent=agent, charge=False)
        answers = await evaluation.access(tool, found, caller)
        body = {"tool": name, "tier": found.policy.tier(tool).value, "allowed": all(answer.ok for answer in answers)}
        return Response({**body, "gates": [answer.as_json() for answer in answers]})
