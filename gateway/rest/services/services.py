"""Services and their tools over REST. A document is fetched before anything is written, with no transaction open."""

from collections.abc import Callable
from typing import Any, TypeVar

import orjson
from asgiref.sync import sync_to_async
from django.db import connections
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.http import bodies
from gateway.rest.chat import parsing
from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.schema import refusals
from gateway.rest.services import service_serializers as shapes
from gateway.runs.errors import ContentTooLarge, InvalidRequest
from services import changes, fetching, shown, snapshots, testing
from services.changes import NewService, Source
from services.credentials import Credential
from services.errors import InvalidService, NoSuchService, NotBuilt, OtherDefinition, SlugTaken, SourceFailed
from services.models import Service
from services.offers import descriptor
from tenants.errors import Refused
from tenants.people.encryption import Undecipherable
from tenants.scope import transactions

Found = TypeVar("Found")

_DOCUMENTS = ("descriptor", "openapi")
_REFUSED = refusals(InvalidRequest, ContentTooLarge, InvalidService, NotBuilt, SourceFailed)


class _BySlug(Pages):
    ordering = "slug"


class _Services(AsyncView):
    """Owners only. Each `within` is one transaction in the caller's tenant, in a thread."""

    scope = "admin"
    parser_classes = [JSONParser]

    async def within(self, work: Callable[[], Found]) -> Found:
        """What `work` returns, with the ORM in the caller's scope."""

        def scoped() -> Found:
            try:
                with transactions.scope(self.principal.tenant_id, self.principal.user_id):
                    return work()
            finally:
                connections["default"].close()

        return await sync_to_async(scoped)()

    async def given(self, request: Request) -> dict[str, Any]:
        """The object in the body."""
        body: bytes = await sync_to_async(request._request.read)(parsing.MAX_BODY_BYTES + 1)
        if len(body) > parsing.MAX_BODY_BYTES:
            raise ContentTooLarge(f"The body may have up to {parsing.MAX_BODY_BYTES:,} bytes.")
        return bodies.json_object(body, InvalidRequest) if body.strip() else {}


async def source_of(kind: str, given: dict[str, Any], base: str, credential: Credential) -> Source:
    """The document that a body names or holds; raises InvalidService, SourceFailed."""
    name = "openapi" if kind == "openapi" else "descriptor"
    other = next(each for each in _DOCUMENTS if each != name)
    if given.get(other) is not None:
        raise InvalidService(f"A service of the kind {kind} has no {other}; it has {name}.", other)
    document = given.get(name)
    if document is None:
        raise InvalidService(f"A service of the kind {kind} needs {name}: a document, or its address.", name)
    operations = given.get("operations") or []
    if not isinstance(operations, list) or not all(isinstance(each, str) for each in operations):
        raise InvalidService("operations must be a list of operationIds, or of texts such as GET /path.", "operations")
    address = document if isinstance(document, str) else ""
    text = await fetching.fetch(address, name) if address else changes.text_of(document, name)
    skill, problem = ("", "") if kind == "openapi" else await _skill(text, base, credential)
    return Source(kind, text, address, operations, skill, problem)


async def _skill(text: str, base: str, credential: Credential) -> tuple[str, str]:
    """The guidance that a descriptor names as a file of its service, or why it cannot be read."""
    given = await sync_to_async(snapshots.parsed)(text, "descriptor")
    path = given.get("skill") if isinstance(given, dict) else None
    if not isinstance(path, str) or not descriptor.is_path(path):
        return "", ""
    try:
        headers = credential.headers()
        return await fetching.fetch(f"{base}/{path}", "descriptor.skill", headers, descriptor.MAX_SKILL), ""
    except (Refused, Undecipherable) as failed:
        return "", f"{path} could not be read: {failed}"


async def source_again(service: Service, given: dict[str, Any]) -> Source:
    """Where a new snapshot of a service comes from: what the body says, else where the last one came from."""
    name = "openapi" if service.kind == "openapi" else "descriptor"
    again = {"operations": service.operations, name: service.source_url or orjson.loads(service.source)} | given
    return await source_of(service.kind, again, service.url, testing.credential_of(service))


class ServiceListView(_Services):
    """The tenant's services; a new one."""

    pagination_class = _BySlug

    @extend_schema(operation_id="list_services", responses={200: shapes.Service(many=True)})
    async def get(self, request: Request) -> Response:
        """By slug."""
        pages = self.pagination_class()
        found = await self.within(
            lambda: list(map(shown.summary, pages.paginate_queryset(Service.objects.all(), request, self) or ()))
        )
        return pages.get_paginated_response(found)

    @extend_schema(
        operation_id="create_service",
        request=shapes.ServiceRequest,
        responses={201: shapes.ServiceDetail, **_REFUSED, **refusals(SlugTaken)},
    )
    async def post(self, request: Request) -> Response:
        """Add a service: its tools are read now, and none of them is enabled."""
        given = await self.given(request)
        for name in given:
            if name not in shapes.ServiceRequest().fields:
                raise InvalidService(f"{name:.80} is not known here.", name[:80])
        wanted = NewService.read(given)
        source = await source_of(wanted.kind, given, wanted.url, wanted.credential)
        tenant_id = self.principal.tenant_id
        return Response(await self.within(lambda: shown.whole(changes.add(tenant_id, wanted, source))), 201)


class ServiceDetailView(_Services):
    """One service."""

    @extend_schema(operation_id="get_service", responses={200: shapes.ServiceDetail, **refusals(NoSuchService)})
    async def get(self, request: Request, slug: str) -> Response:
        """With its tools, what changed in them, and how the last real calls went."""
        return Response(await self.within(lambda: shown.whole(changes.found(slug))))

    @extend_schema(
        operation_id="update_service",
        request=shapes.ServiceChange,
        responses={200: shapes.ServiceDetail, **_REFUSED, **refusals(NoSuchService)},
    )
    async def patch(self, request: Request, slug: str) -> Response:
        """Change it; with a document, take a new snapshot from that."""
        given = await self.given(request)
        documents = {name: given.pop(name) for name in (*_DOCUMENTS, "operations") if name in given}
        service = await self.within(lambda: changes.found(slug))
        source = await source_again(service, documents) if documents else None

        def change() -> Any:
            changed = changes.change(slug, given)
            return shown.whole(changed if source is None else changes.refresh(slug, source))

        return Response(await self.within(change))

    @extend_schema(operation_id="delete_service", responses={204: None, **refusals(NoSuchService)})
    async def delete(self, request: Request, slug: str) -> Response:
        """Remove it with its tools; the record of their calls stays."""
        await self.within(lambda: changes.remove(slug))
        return Response(status=204)


class ServiceRefreshView(_Services):
    """A new snapshot."""

    @extend_schema(
        operation_id="refresh_service",
        request=shapes.RefreshRequest,
        responses={200: shapes.ServiceDetail, **_REFUSED, **refusals(NoSuchService)},
    )
    async def post(self, request: Request, slug: str) -> Response:
        """Read what the service offers now; a tool that changed cannot be called until that is accepted."""
        given = await self.given(request)
        for name in given:
            if name not in shapes.RefreshRequest().fields:
                raise InvalidService(f"{name:.80} is not known here.", name[:80])
        service = await self.within(lambda: changes.found(slug))
        source = await source_again(service, given)
        return Response(await self.within(lambda: shown.whole(changes.refresh(slug, source))))


class ServiceTestView(_Services):
    """Does it answer."""

    @extend_schema(
        operation_id="test_service", request=None, responses={200: shapes.ServiceTest, **refusals(NoSuchService)}
    )
    async def post(self, request: Request, slug: str) -> Response:
        """One GET of the service's address, with its credential, on the way of a call."""
        service = await self.within(lambda: changes.found(slug))
        return Response(await testing.test(service))


class ServiceToolView(_Services):
    """One tool of a service."""

    @extend_schema(
        operation_id="update_service_tool",
        request=shapes.ServiceToolChange,
        responses={200: shapes.ServiceTool, **refusals(InvalidRequest, InvalidService, NoSuchService)},
    )
    async def patch(self, request: Request, slug: str, tool: str) -> Response:
        """Switch it on or off; say how far its effects reach, and what may be done with it."""
        given = await self.given(request)
        return Response(await self.within(lambda: shown.tool(changes.change_tool(slug, tool, given))))


class ServiceToolAcceptView(_Services):
    """A tool that changed."""

    @extend_schema(
        operation_id="accept_service_tool",
        request=shapes.AcceptRequest,
        responses={
            200: shapes.ServiceTool,
            204: None,
            **refusals(InvalidRequest, InvalidService, NoSuchService, OtherDefinition),
        },
    )
    async def post(self, request: Request, slug: str, tool: str) -> Response:
        """Accept it as it is now, by the hash of what was read; 204 when it was gone, and is removed."""
        given = await self.given(request)

        def accept() -> Any:
            accepted = changes.accept(slug, tool, given)
            return accepted and shown.tool(accepted)

        body = await self.within(accept)
        return Response(status=204) if body is None else Response(body)
