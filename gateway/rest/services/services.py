"""Services and their tools over REST. A document is fetched before anything is written, with no transaction open."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.framework.owners import AsyncOwnersView
from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.schema import refusals
from gateway.rest.services import service_serializers as shapes
from gateway.runs.errors import ContentTooLarge, InvalidRequest
from services import changes, recorded, shown, testing
from services.changes import NewService
from services.descriptors import catalogue
from services.errors import InvalidService, NoSuchService, OtherDefinition, SlugTaken, SourceFailed
from services.models import Service
from services.reading import sources
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.login.views import etag
from tenants.people.changes import revision

_REFUSED = refusals(InvalidRequest, ContentTooLarge, InvalidService, SourceFailed)


class _BySlug(Pages):
    ordering = "slug"


def _detailed(service: Service) -> tuple[dict[str, Any], int, None, dict[str, str]]:
    """What `Response` takes: a service, with the ETag that a change can be based on."""
    return shown.details(service), 200, None, etag(revision(service=recorded.service(service)))


class ServiceListView(AsyncOwnersView):
    """The tenant's services; a new one."""

    pagination_class = _BySlug

    @extend_schema(operation_id="list_services", responses={200: shapes.Service(many=True)})
    async def get(self, request: Request) -> Response:
        """By slug."""
        pages = self.pagination_class()

        def listed() -> list[dict[str, Any]]:
            page = pages.paginate_queryset(Service.objects.all(), request, self) or ()
            connected = shown.connected(page)
            return [shown.summary(each, connected) for each in page]

        return pages.get_paginated_response(await self.within(listed))

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
        suggest = None
        if "catalogue" in given:
            entry = catalogue.found(given["catalogue"])
            suggest, given = entry.suggested, catalogue.body(given)
            wanted = NewService.read(given)
            source = await sources.of_entry(entry.name, given, wanted, self.tenant_scope)
        else:
            wanted = NewService.read(given)
            source = await sources.of(wanted.kind, given, wanted.url, wanted.credential, self.tenant_scope)
        tenant_id = self.principal.tenant_id
        return Response(await self.within(lambda: shown.details(changes.add(tenant_id, wanted, source, suggest))), 201)


class CatalogueView(AsyncOwnersView):
    """What services can be added by their name alone."""

    @extend_schema(operation_id="list_service_catalogue", responses={200: shapes.Catalogue})
    async def get(self, request: Request) -> Response:
        """The descriptors that come with Toolgate, with the tiers and labels that are suggested for their tools."""
        found = [catalogue.shown(each) for each in catalogue.entries()]
        return Response({"next": None, "previous": None, "results": found})


class ServiceDetailView(AsyncOwnersView):
    """One service."""

    etagged = True

    @extend_schema(operation_id="get_service", responses={200: shapes.ServiceDetail, **refusals(NoSuchService)})
    async def get(self, request: Request, slug: str) -> Response:
        """With its tools, what changed in them, and how the last real calls went."""
        return Response(*await self.within(lambda: _detailed(changes.found(slug))))

    @extend_schema(
        operation_id="update_service",
        request=shapes.ServiceChange,
        responses={200: shapes.ServiceDetail, **_REFUSED, **refusals(NoSuchService, ReauthenticationRequired)},
    )
    async def patch(self, request: Request, slug: str) -> Response:
        """Change it; with a document, take a new snapshot from that."""
        given = await self.given(request)
        documents = {name: given.pop(name) for name in (*sources.DOCUMENTS, "operations") if name in given}
        service = await self.within(lambda: changes.found(slug))
        source = await sources.again(service, documents, self.tenant_scope) if documents else None

        def change() -> Any:
            changed = changes.change(slug, given)
            return _detailed(changed if source is None else changes.refresh(slug, source))

        return Response(*await self.within(change))

    @extend_schema(operation_id="delete_service", responses={204: None, **refusals(NoSuchService)})
    async def delete(self, request: Request, slug: str) -> Response:
        """Remove it with its tools; the record of their calls stays."""
        await self.within(lambda: changes.remove(slug))
        return Response(status=204)


class ServiceRefreshView(AsyncOwnersView):
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
        source = await sources.again(service, given, self.tenant_scope)
        return Response(await self.within(lambda: shown.details(changes.refresh(slug, source))))


class ServiceTestView(AsyncOwnersView):
    """Does it answer."""

    @extend_schema(
        operation_id="test_service", request=None, responses={200: shapes.ServiceTest, **refusals(NoSuchService)}
    )
    async def post(self, request: Request, slug: str) -> Response:
        """One GET of the service's address, with its credential, on the way of a call."""
        service = await self.within(lambda: changes.found(slug))
        return Response(await testing.test(service, self.tenant_scope))


class ServiceToolView(AsyncOwnersView):
    """One tool of a service."""

    @extend_schema(
        operation_id="update_service_tool",
        request=shapes.ServiceToolChange,
        responses={
            200: shapes.ServiceTool,
            **refusals(InvalidRequest, InvalidService, NoSuchService, ReauthenticationRequired),
        },
    )
    async def patch(self, request: Request, slug: str, tool: str) -> Response:
        """Switch it on or off; say how far its effects reach, and what may be done with it."""
        given = await self.given(request)
        return Response(await self.within(lambda: shown.tool(changes.change_tool(slug, tool, given))))


class ServiceToolAcceptView(AsyncOwnersView):
    """A tool that changed."""

    @extend_schema(
        operation_id="accept_service_tool",
        request=shapes.AcceptRequest,
        responses={
            200: shapes.ServiceTool,
            204: None,
            **refusals(InvalidRequest, InvalidService, NoSuchService, OtherDefinition, ReauthenticationRequired),
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
