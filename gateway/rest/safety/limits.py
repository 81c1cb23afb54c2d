"""Limits of requests over REST: `/api/v1/limits/`. Everybody reads them, owners set them."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.requests import parsing
from gateway.rest.framework.schema import ProblemSchema, refusals
from tenants.limits import changes
from tenants.limits.changes import InvalidLimit
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.login.views import WithinTenant, etag
from tenants.models import RequestLimits


def _limit(**more: Any) -> serializers.IntegerField:
    return serializers.IntegerField(allow_null=True, min_value=1, max_value=changes.MOST, **more)


@extend_schema_serializer(component_name="RequestLimits")
class LimitsSerializer(serializers.Serializer[Any]):
    """Requests per minute; null: any number."""

    per_tenant = _limit(help_text="Of all people and keys together.")
    per_person = _limit(help_text="Of each person, with all of their keys.")
    per_key = _limit(help_text="Of each API key.")
    ceiling = _limit(help_text="The operator's: no limit of the tenant's is higher.")


class LimitsChange(serializers.Serializer[Any]):
    """What is to be set; what is not given stays as it is."""

    per_tenant = _limit(required=False)
    per_person = _limit(required=False)
    per_key = _limit(required=False)


class LimitsView(WithinTenant, generics.GenericAPIView[RequestLimits]):
    """How many requests per minute may be made over the API."""

    etagged = True
    schema = ProblemSchema()
    serializer_class = LimitsSerializer
    queryset = RequestLimits.objects.none()

    @property
    def scope(self) -> str:  # type: ignore[override]
        """What the request asks for."""
        return "chat" if self.request.method in ("GET", "HEAD", "OPTIONS") else "admin"

    def answer(self, limits: RequestLimits) -> Response:
        """The limits, with the ETag that a change can be based on."""
        return Response(LimitsSerializer(limits).data, headers=etag(changes.revision_of(limits)))

    @extend_schema(operation_id="get_request_limits", responses=LimitsSerializer)
    def get(self, request: Request) -> Response:
        """As they are set, and the operator's ceiling."""
        return self.answer(changes.of(self.principal.tenant_id))

    @extend_schema(
        operation_id="set_request_limits",
        request=LimitsChange,
        responses={200: LimitsSerializer, **refusals(InvalidLimit, ReauthenticationRequired)},
    )
    def patch(self, request: Request) -> Response:
        """Set them; they hold from the next request on, and for what was let through in the last minute."""
        given = parsing.read(self.request._request.read(parsing.MAX_BYTES + 1))
        for name in given:
            if name not in changes.OWNERS:
                raise InvalidLimit(f"{name[:80]!a} is no limit that an owner sets.", name[:80])
        return self.answer(changes.set_limits(self.principal.tenant_id, given))
