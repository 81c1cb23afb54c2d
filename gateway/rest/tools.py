"""The tools that the caller may use, over REST."""

import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest import tool_serializers
from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.schema import refusals
from gateway.runs.agents import member_access
from gateway.runs.errors import InvalidRequest, NoSuchAgent
from tenants.people import owners
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope
from tools import definitions
from tools.gates.interface import Rights
from tools.invocation import evaluation
from tools.settings import grants
from tools.settings.errors import InvalidGrant

STYLES = {
    "openai": definitions.openai,
    "anthropic": definitions.anthropic,
    "gemini": definitions.gemini,
    "mcp": definitions.mcp,
}
_AGENT = OpenApiParameter("agent", str, description="An agent's slug; default: the tenant's default agent.")
_USER = OpenApiParameter("user", str, description="For owners: somebody of the tenant, by username or id.")


class RightsView(AsyncView):
    """What goes by the caller's rights under an agent."""

    scope = "tools:read"

    async def rights(self, request: Request) -> tuple[Rights, str]:
        """The caller's rights under the agent that the query names, and that agent's slug."""
        return await self.rights_under(request.query_params.get("agent"))

    async def rights_under(self, agent: str | None) -> tuple[Rights, str]:
        """The caller's rights under an agent, or the tenant's default one, and its slug. Raises NoSuchAgent."""
        return await member_access.rights_under(self.tenant_scope, agent)


class ToolListView(RightsView):
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
        known, agent = await self.rights(request)
        policy = known.policy
        offered = evaluation.offered(policy, agent)
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


class ToolAccessView(RightsView):
    """May I call it, and if not, why."""

    @extend_schema(
        operation_id="get_tool_access",
        parameters=[_AGENT, _USER],
        responses={200: tool_serializers.ToolAccess, **refusals(NoSuchAgent)},
    )
    async def get(self, request: Request, name: str) -> Response:
        """Gate by gate; nothing is counted. Owners may ask for anybody of their tenant with `?user=`."""
        scope = await self._asked_for(request.query_params.get("user"))
        found = await member_access.of(scope, name, request.query_params.get("agent"))
        if found.gates is None:
            raise NotFound(found.why)
        body = {"tool": name, "tier": found.tier, "allowed": found.allowed}
        gates = [answer.as_json() for answer in found.gates]
        for refused in (gate for gate in gates if not gate["ok"]):
            refused["user"] = await owners.named(self.principal, refused["user"])
        return Response({**body, "gates": gates})

    async def _asked_for(self, user: str | None) -> TenantScope:
        """Whose access is asked about: one's own, or as an owner somebody else's."""
        me = self.principal
        if user is None or user in (me.username, str(me.user_id)):
            return self.tenant_scope
        if "admin" not in me.scopes:
            raise PermissionDenied(
                "Whether somebody else may use a tool is for an owner of your tenant to ask, with the scope admin."
            )
        try:
            return TenantScope(me.tenant_id, await sync_to_async(self._member)(user))
        except InvalidGrant:
            raise NotFound(f"{user[:100]!a} is no member of your tenant.") from None

    def _member(self, user: str) -> uuid.UUID:
        try:
            with transactions.scope(*self.tenant_scope):
                return grants.member(self.principal.tenant_id, user)
        finally:
            connections["default"].close()
