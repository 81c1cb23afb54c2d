"""What a tenant says of models, over REST: which are allowed, fallbacks, prices."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.providers.routing import listing, resolution
from gateway.providers.routing.errors import ChangedMeanwhile, InvalidModels
from gateway.providers.routing.settings import rules
from gateway.rest.framework.owners import AsyncOwnersView
from gateway.rest.framework.schema import refusals
from gateway.rest.models import model_serializers as shapes
from gateway.runs import loop
from gateway.runs.errors import ContentTooLarge, InvalidRequest
from tenants.login.reauthentication import ReauthenticationRequired

_REFUSED = refusals(InvalidRequest, ContentTooLarge, InvalidModels, ChangedMeanwhile, ReauthenticationRequired)


class ModelsView(AsyncOwnersView):
    """The tenant's models."""

    @extend_schema(operation_id="get_models", responses={200: shapes.Models})
    async def get(self, request: Request) -> Response:
        """What the tenant and the operator say, and the known models that members may use."""
        return Response(await self.within(lambda: self._shown(rules.found(self.principal.tenant_id))))

    @extend_schema(
        operation_id="replace_models", request=shapes.ModelsChange, responses={200: shapes.Models, **_REFUSED}
    )
    async def put(self, request: Request) -> Response:
        """Say it anew: what is left out is empty from then on, and without `allowed` every model is allowed."""
        return await self._change(request, whole=True)

    @extend_schema(
        operation_id="update_models", request=shapes.ModelsChange, responses={200: shapes.Models, **_REFUSED}
    )
    async def patch(self, request: Request) -> Response:
        """Change what is given; runs go by that from their next turn on."""
        return await self._change(request, whole=False)

    async def _change(self, request: Request, *, whole: bool) -> Response:
        given = await self.given(request)
        tenant_id = self.principal.tenant_id
        return Response(await self.within(lambda: self._shown(rules.change(tenant_id, given, whole=whole))))

    def _shown(self, row: Any) -> dict[str, Any]:
        return rules.shown(row) | listing.offered(resolution.read_now(self.principal.tenant_id), loop.providers())
