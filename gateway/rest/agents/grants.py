"""Grants over REST: `/api/v1/grants/`."""

import uuid
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.agents import setting_serializers as shapes
from gateway.rest.agents.owners import OwnersView
from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.schema import refusals
from gateway.runs.agents import tool_settings
from gateway.runs.errors import ContentTooLarge, InvalidRequest
from tenants.login.reauthentication import ReauthenticationRequired
from tools.models import Grant
from tools.settings import grants
from tools.settings.errors import InvalidGrant, NoSuchGrant


def _shown(grant: Grant) -> dict[str, Any]:
    user = grant.user
    return {
        "id": str(grant.pk),
        "tool": grant.tool_name,
        "effect": grant.effect,
        "user": None if user is None else {"id": str(user.pk), "username": user.username},
        "role": grant.role or None,
        "created_at": grant.created_at,
    }


class _NewestFirst(Pages):
    ordering = "-created_at"


class GrantListView(OwnersView):
    """The tenant's grants; a new one."""

    pagination_class = _NewestFirst

    @extend_schema(
        operation_id="list_grants",
        parameters=[OpenApiParameter("tool", str), OpenApiParameter("user", str, description="A username.")],
        responses={200: shapes.Grant(many=True)},
    )
    def get(self, request: Request) -> Response:
        """The newest first."""
        found = grants.of(self.principal.tenant_id)
        for name, column in (("tool", "tool_name"), ("user", "user__username")):
            if wanted := request.query_params.get(name):
                found = found.none() if "\x00" in wanted else found.filter(**{column: wanted})
        return self.paged(found, lambda rows: [_shown(each) for each in rows])

    @extend_schema(
        operation_id="create_grant",
        request=shapes.GrantRequest,
        responses={
            201: shapes.Grant,
            **refusals(InvalidRequest, ContentTooLarge, InvalidGrant, ReauthenticationRequired),
        },
    )
    def post(self, request: Request) -> Response:
        """Allow or deny a tool; the same once more is the one that there is. An allow asks a session for the password
        again."""
        tenant_id = self.principal.tenant_id
        wanted = grants.read(tenant_id, self.given(), lambda name: tool_settings.exists(tenant_id, name))
        return Response(_shown(grants.add(wanted)), 201)


class GrantView(OwnersView):
    """One grant."""

    @extend_schema(operation_id="get_grant", responses={200: shapes.Grant, **refusals(NoSuchGrant)})
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """To whom it allows or denies what."""
        return Response(_shown(grants.found(self.principal.tenant_id, id)))

    @extend_schema(
        operation_id="delete_grant", responses={204: None, **refusals(NoSuchGrant, ReauthenticationRequired)}
    )
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """Take it away; to take a deny away asks a session for the password again."""
        grants.remove(grants.found(self.principal.tenant_id, id))
        return Response(status=204)
