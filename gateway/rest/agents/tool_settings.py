"""What the tenant says of its tools over REST: `/api/v1/tool-settings/`."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.agents import setting_serializers as shapes
from gateway.rest.agents.owners import OwnersView
from gateway.rest.framework.pagination import InMemory, Pages
from gateway.rest.framework.schema import refusals
from gateway.runs.agents import tool_settings
from gateway.runs.agents.tool_settings import TenantTool
from gateway.runs.errors import ContentTooLarge, InvalidRequest
from tenants.login import reauthentication
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.login.views import etag
from tools.settings.errors import InvalidToolSetting, NoSuchTool

_REFUSED = refusals(InvalidRequest, ContentTooLarge, InvalidToolSetting, NoSuchTool, ReauthenticationRequired)


def _shown(found: TenantTool) -> Response:
    return Response(found.body(), headers=etag(found.revision))


class _ByPlace(Pages):
    page_size = 200
    ordering = ("place",)  # type: ignore[assignment]


class ToolSettingListView(OwnersView):
    """The tenant's tools, 200 a page."""

    pagination_class = _ByPlace

    @extend_schema(
        operation_id="list_tool_settings",
        parameters=[
            OpenApiParameter("service", str, description="Of one service; empty: those that are built in."),
            OpenApiParameter("cursor", str, description="Where a page begins, as `next` and `previous` have it."),
            OpenApiParameter("limit", int, description="How many are on a page, up to 200."),
        ],
        responses={200: shapes.ToolSettingList},
    )
    def get(self, request: Request) -> Response:
        """Those that are built in first, then by name; with what is said of each."""
        tools = tool_settings.of_tenant(self.principal.tenant_id, request.query_params.get("service"))
        pages = self.pagination_class()
        page = pages.paginate_queryset(InMemory(tools), request, self)
        return pages.get_paginated_response([each.body() for each in page])


class ToolSettingView(OwnersView):
    """One tool."""

    etagged = True

    @extend_schema(operation_id="get_tool_setting", responses={200: shapes.ToolSetting, **refusals(NoSuchTool)})
    def get(self, request: Request, name: str) -> Response:
        """What is said of it, and what it declares itself."""
        return _shown(tool_settings.found(self.principal.tenant_id, name))

    @extend_schema(
        operation_id="replace_tool_setting",
        request=shapes.ToolSettingRequest,
        responses={200: shapes.ToolSetting, **_REFUSED},
    )
    def put(self, request: Request, name: str) -> Response:
        """Say all of it: what is left out is the tool's own."""
        given = self.given()
        if "enabled" not in given:
            raise InvalidToolSetting("enabled must be true or false.", "enabled")
        return self._said(name, dict.fromkeys(tool_settings.FIELDS) | given)

    @extend_schema(
        operation_id="update_tool_setting",
        request=shapes.ToolSettingChange,
        responses={200: shapes.ToolSetting, **_REFUSED},
    )
    def patch(self, request: Request, name: str) -> Response:
        """Change what is named; a lower tier, or fewer approvals, asks a session for the password again."""
        return self._said(name, self.given())

    @extend_schema(
        operation_id="delete_tool_setting",
        responses={204: None, **refusals(NoSuchTool, ReauthenticationRequired)},
    )
    def delete(self, request: Request, name: str) -> Response:
        """Say nothing of it any more: all is the tool's own. A service's tool stays on or off as it is."""
        own = dict.fromkeys(("tier", "rate", "approvals_needed", "approval_expires"))
        found = tool_settings.found(self.principal.tenant_id, name)
        self._said(name, own if found.service else own | {"enabled": True})
        return Response(status=204)

    def _said(self, name: str, given: dict[str, Any]) -> Response:
        planned = tool_settings.plan(self.principal.tenant_id, name, given)
        if planned.raises:
            reauthentication.demand(self.request, self.principal)
        return _shown(tool_settings.carry_out(planned))
