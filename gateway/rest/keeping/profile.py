"""The caller's own language and time zone over REST: `/api/v1/me/`."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.framework.schema import ProblemSchema, refusals
from gateway.runs.errors import InvalidRequest
from tenants.login.views import WithinTenant
from tenants.people import profile


@extend_schema_serializer(component_name="Me")
class MeSerializer(serializers.Serializer[Any]):
    """Who the caller is, in which tenant and role; `language` is the one that they write in."""

    id = serializers.UUIDField(read_only=True)
    username = serializers.CharField(read_only=True)
    tenant = serializers.CharField(read_only=True)
    role = serializers.CharField(read_only=True)
    language = serializers.ChoiceField(choices=profile.languages())
    time_zone = serializers.CharField(max_length=64, help_text="A name of the IANA database, such as Europe/Berlin.")

    def validate_time_zone(self, value: str) -> str:
        """One that exists."""
        if value not in profile.time_zones():
            raise serializers.ValidationError("There is no such time zone. Use a name such as Europe/Berlin.")
        return value


class MeView(WithinTenant):
    """The caller."""

    schema = ProblemSchema()
    scope = "chat"

    @extend_schema(operation_id="get_me", responses={200: MeSerializer})
    def get(self, request: Request) -> Response:
        """Who one is, and one's language and time zone."""
        return self._own()

    @extend_schema(
        operation_id="update_me", request=MeSerializer, responses={200: MeSerializer, **refusals(InvalidRequest)}
    )
    def patch(self, request: Request) -> Response:
        """Change language or time zone."""
        given = MeSerializer(data=request.data, partial=True)
        given.is_valid(raise_exception=True)
        own = profile.of(self.principal)
        profile.change(self.principal, **{"language": own.language, "time_zone": own.time_zone} | given.validated_data)
        return self._own()

    def _own(self) -> Response:
        own, here = profile.of(self.principal), self.principal
        return Response(
            {
                "id": own.pk,
                "username": own.username,
                "tenant": here.tenant_slug,
                "role": here.role,
                "language": own.language,
                "time_zone": own.time_zone,
            }
        )
