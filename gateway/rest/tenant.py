"""The settings of the caller's tenant over REST: `/api/v1/tenant/`."""

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.framework.schema import ProblemSchema, refusals
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.login.views import WithinTenant
from tenants.models import Tenant
from tenants.people import settings
from tenants.people.settings import LONGEST_DAYS
from tools.fetching import hosts
from tools.fetching.hosts import MOST_HOSTS, InvalidHost


class TenantSerializer(serializers.ModelSerializer[Tenant]):
    """The caller's tenant."""

    retention_days = serializers.IntegerField(
        allow_null=True, min_value=1, max_value=LONGEST_DAYS, help_text="Null: payloads are kept for ever."
    )

    fetch_hosts = serializers.ListField(
        child=serializers.CharField(max_length=263),
        max_length=MOST_HOSTS,
        help_text="Hosts that web_fetch reads without a human: example.com, *.example.com, each perhaps with a port.",
    )

    class Meta:
        model = Tenant
        fields = [
            *("id", "slug", "name", "retention_days", "second_factor_required", "fetch_hosts", "taint", "erased_until")
        ]
        read_only_fields = ["id", "slug", "name", "erased_until"]


@extend_schema_view(get=extend_schema(operation_id="get_tenant"), patch=extend_schema(operation_id="update_tenant"))
class TenantView(WithinTenant, generics.GenericAPIView[Tenant]):
    """The caller's tenant: how long it keeps the payloads of calls, what it asks of sessions, and what holds calls."""

    schema = ProblemSchema()
    serializer_class = TenantSerializer
    queryset = Tenant.objects.none()

    @property
    def scope(self) -> str:  # type: ignore[override]
        """Everybody may know, owners may change."""
        return "admin" if self.request.method == "PATCH" else "history:read"

    def get(self, request: Request) -> Response:
        """The tenant."""
        return Response(TenantSerializer(Tenant.objects.get(id=self.principal.tenant_id)).data)

    @extend_schema(responses={200: TenantSerializer, **refusals(ReauthenticationRequired, InvalidHost)})
    def patch(self, request: Request) -> Response:
        """Say how long payloads are kept, whether sessions need a second factor, which hosts web_fetch reads, and what
        becomes of calls that would reach outside after private data and strangers' words were read (`taint`).

        Payloads that are older go with the next hourly tidying.
        """
        given = TenantSerializer(data=request.data, partial=True)
        given.is_valid(raise_exception=True)
        wanted = given.validated_data
        if "fetch_hosts" in wanted:
            wanted["fetch_hosts"] = hosts.read(wanted["fetch_hosts"])
        return Response(TenantSerializer(settings.change(self.principal.tenant_id, **wanted)).data)
