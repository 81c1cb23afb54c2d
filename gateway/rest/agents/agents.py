"""Agents over REST: `/api/v1/agents/`. Each change is a version, and a version can be taken back."""

import re
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.models import Agent
from gateway.rest.agents import agent_serializers as shapes
from gateway.rest.agents.owners import OwnersView
from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.schema import refusals
from gateway.runs.agents import changes, shown, versions
from gateway.runs.errors import (
    AgentChanged,
    AgentSlugTaken,
    ContentTooLarge,
    DefaultAgent,
    InvalidAgent,
    InvalidRequest,
    NoSuchAgent,
    NoSuchVersion,
)
from tenants.login.reauthentication import ReauthenticationRequired

_SENT = (InvalidRequest, ContentTooLarge, InvalidAgent)
_IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description='The ETag that the change is based on, such as "3".'
)
_ETAG = re.compile(r'(?:W/)?"([0-9]{1,9})"')


def _answer(agent: Agent, status: int = 200) -> Response:
    return Response(shown.agent(agent), status, headers={"ETag": f'"{agent.version}"'})


def _version(request: Request, given: dict[str, Any]) -> int | None:
    """The version that a change is based on, taken out of the body or read of If-Match; None: whichever there is."""
    named = given.pop("version", None)
    if named is not None and (isinstance(named, bool) or not isinstance(named, int)):
        raise InvalidRequest("version must be a whole number.", "version")
    header = request.headers.get("If-Match", "*").strip()
    if header == "*":
        return named
    tag = _ETAG.fullmatch(header)
    if tag is None:
        raise InvalidRequest('If-Match must be the ETag of the agent, such as "3".', "If-Match")
    if named is not None and named != int(tag[1]):
        raise InvalidRequest("version and If-Match name different versions.", "version")
    return int(tag[1])


class _BySlug(Pages):
    ordering = "slug"


class _NewestFirst(Pages):
    ordering = "-number"


class AgentListView(OwnersView):
    """The tenant's agents; a new one."""

    pagination_class = _BySlug

    @extend_schema(
        operation_id="list_agents",
        parameters=[OpenApiParameter("archived", bool, description="Those that are archived instead.")],
        responses={200: shapes.Agent(many=True), **refusals(InvalidRequest)},
    )
    def get(self, request: Request) -> Response:
        """By slug."""
        archived = {"true": True, "false": False, "": False}.get(request.query_params.get("archived", ""))
        if archived is None:
            raise InvalidRequest("archived must be true or false.", "archived")
        found = Agent.objects.filter(tenant_id=self.principal.tenant_id, archived_at__isnull=not archived)
        return self.paged(found, lambda rows: [shown.agent(each) for each in rows])

    @extend_schema(
        operation_id="create_agent",
        request=shapes.AgentRequest,
        responses={201: shapes.Agent, **refusals(*_SENT, AgentSlugTaken, ReauthenticationRequired)},
    )
    def post(self, request: Request) -> Response:
        """Make an agent; chats can name it at once."""
        return _answer(changes.add(self.principal.tenant_id, self.given()), 201)


class AgentDetailView(OwnersView):
    """One agent."""

    @extend_schema(operation_id="get_agent", responses={200: shapes.Agent, **refusals(NoSuchAgent)})
    def get(self, request: Request, slug: str) -> Response:
        """With all of its fields."""
        return _answer(changes.found(self.principal.tenant_id, slug))

    @extend_schema(
        operation_id="update_agent",
        request=shapes.AgentChange,
        parameters=[_IF_MATCH],
        responses={
            200: shapes.Agent,
            **refusals(*_SENT, NoSuchAgent, AgentChanged, DefaultAgent, ReauthenticationRequired),
        },
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change it; runs that have begun go on as they began."""
        given = self.given()
        version = _version(request, given)
        archived = given.pop("archived", None)
        if not (archived is None or isinstance(archived, bool)):
            raise InvalidAgent("archived must be true or false.", "archived")
        return _answer(changes.change(self.principal.tenant_id, slug, given, version, archived=archived))

    @extend_schema(
        operation_id="delete_agent",
        parameters=[_IF_MATCH],
        responses={204: None, **refusals(InvalidRequest, NoSuchAgent, AgentChanged, DefaultAgent)},
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Archive it: nothing begins with it any more. Runs that have begun go on, and its versions stay."""
        changes.change(self.principal.tenant_id, slug, {}, _version(request, {}), archived=True)
        return Response(status=204)


class AgentVersionListView(OwnersView):
    """An agent's versions."""

    pagination_class = _NewestFirst

    @extend_schema(
        operation_id="list_agent_versions", responses={200: shapes.AgentVersion(many=True), **refusals(NoSuchAgent)}
    )
    def get(self, request: Request, slug: str) -> Response:
        """Who changed what, when; the newest first."""
        agent = changes.found(self.principal.tenant_id, slug)
        return self.paged(versions.of(agent.pk), shown.history)


class AgentRestoreView(OwnersView):
    """An earlier version of an agent."""

    @extend_schema(
        operation_id="restore_agent_version",
        request=shapes.RestoreRequest,
        parameters=[_IF_MATCH],
        responses={
            200: shapes.Agent,
            **refusals(InvalidRequest, NoSuchAgent, NoSuchVersion, AgentChanged, ReauthenticationRequired),
        },
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Make the agent what it was, as a new version; whether it is the default one stays."""
        version = _version(request, self.given(("version",)))
        return _answer(changes.restore(self.principal.tenant_id, slug, number, version))
