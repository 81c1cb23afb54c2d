"""A tenant's own providers over REST. One is tested before it is saved, with no transaction open."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.providers.routing.errors import (
    ChangedMeanwhile,
    InvalidProvider,
    NoSuchProvider,
    ProviderFailed,
    ProviderTaken,
)
from gateway.providers.routing.settings import changes, testing, wanted
from gateway.rest.framework.owners import AsyncOwnersView
from gateway.rest.framework.schema import refusals
from gateway.rest.models import model_serializers as shapes
from gateway.runs.errors import ContentTooLarge, InvalidRequest
from tenants.login import reauthentication
from tenants.login.reauthentication import ReauthenticationRequired

_REFUSED = refusals(InvalidRequest, ContentTooLarge, InvalidProvider, ProviderFailed, ReauthenticationRequired)


class ProviderListView(AsyncOwnersView):
    """The tenant's own providers; a new one."""

    pagination_class = None

    @extend_schema(operation_id="list_providers", responses={200: shapes.Providers})
    async def get(self, request: Request) -> Response:
        """By slug; all of them."""
        tenant_id = self.principal.tenant_id
        rows = await self.within(lambda: [changes.shown(row) for row in changes.all_of(tenant_id)])
        return Response({"next": None, "previous": None, "results": rows})

    @extend_schema(
        operation_id="create_provider",
        request=shapes.ProviderRequest,
        responses={201: shapes.Provider, **_REFUSED, **refusals(ProviderTaken)},
    )
    async def post(self, request: Request) -> Response:
        """Add a provider. It is asked for its models first: a key that it refuses is not saved."""
        reauthentication.demand(request, self.principal)
        given = await self.given(request)
        new = wanted.new(given, own=True)
        tested = await testing.demand(new)
        tenant_id = self.principal.tenant_id
        return Response(await self.within(lambda: changes.shown(changes.create(tenant_id, new, tested))), 201)


class ProviderDetailView(AsyncOwnersView):
    """One of them."""

    @extend_schema(operation_id="get_provider", responses={200: shapes.Provider, **refusals(NoSuchProvider)})
    async def get(self, request: Request, slug: str) -> Response:
        """Its address and what its last test found; never its key."""
        tenant_id = self.principal.tenant_id
        return Response(await self.within(lambda: changes.shown(changes.found(tenant_id, slug))))

    @extend_schema(
        operation_id="update_provider",
        request=shapes.ProviderChange,
        responses={200: shapes.Provider, **_REFUSED, **refusals(NoSuchProvider, ChangedMeanwhile)},
    )
    async def patch(self, request: Request, slug: str) -> Response:
        """Change it; runs go by that from their next turn on. What its address or key is, is tested again first."""
        given = await self.given(request)
        if given.keys() - {"enabled", "version"}:
            reauthentication.demand(request, self.principal)
        version = given.pop("version", None)
        tenant_id = self.principal.tenant_id

        def read() -> Any:
            row = changes.found(tenant_id, slug)
            return row.version, wanted.changed(row, given)

        present, new = await self.within(read)
        if version not in (None, present):
            raise ChangedMeanwhile(present)
        tested = await testing.demand(new) if given.keys() & {"kind", "base_url", "api_key"} else None
        return Response(await self.within(lambda: changes.shown(changes.change(tenant_id, present, new, tested))))

    @extend_schema(operation_id="delete_provider", responses={204: None, **refusals(NoSuchProvider)})
    async def delete(self, request: Request, slug: str) -> Response:
        """Remove it with its key: its models are unknown from then on, or those of the operator's of the same slug."""
        tenant_id = self.principal.tenant_id
        await self.within(lambda: changes.remove(tenant_id, slug))
        return Response(status=204)


class ProviderTestView(AsyncOwnersView):
    """Does it answer."""

    @extend_schema(
        operation_id="test_provider", request=None, responses={200: shapes.ProviderTest, **refusals(NoSuchProvider)}
    )
    async def post(self, request: Request, slug: str) -> Response:
        """Ask it once for its models."""
        tenant_id = self.principal.tenant_id
        present = await self.within(lambda: wanted.changed(changes.found(tenant_id, slug), {}))
        tested = await testing.test(present)
        await self.within(lambda: changes.note(tenant_id, slug, tested))
        return Response(asdict(tested))
