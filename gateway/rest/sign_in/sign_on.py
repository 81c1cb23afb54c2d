"""A tenant's providers of single sign-on over REST: `/api/v1/sign-on/`, for owners."""

from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from gateway.sign_on import flow, setup
from gateway.sign_on.errors import DomainTaken, InvalidProvider, NoSuchProvider
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.login.views import etag
from tenants.models import Role, SignOnProvider
from tenants.people import recorded
from tenants.people.changes import revision
from tenants.scope import transactions


@extend_schema_serializer(component_name="SignOnRole")
class RoleOfValue(serializers.Serializer[Any]):
    """A value of the claim, and the role that it gives."""

    value = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.choices)


@extend_schema_serializer(component_name="SignOnProvider")
class SignOnSerializer(serializers.ModelSerializer[SignOnProvider]):
    """A provider, without its client secret."""

    roles = RoleOfValue(many=True)
    default_role = serializers.ChoiceField(
        choices=Role.choices, allow_blank=True, help_text="Empty: whoever has no other role is refused."
    )
    confirmed = serializers.SerializerMethodField(
        help_text="Whether the operator says that the domain is the tenant's."
    )
    has_secret = serializers.SerializerMethodField()
    redirect_uri = serializers.SerializerMethodField(help_text="What the provider has to know.")

    class Meta:
        model = SignOnProvider
        fields = [
            *("id", "domain", "confirmed", "issuer", "client_id", "has_secret", "redirect_uri", "role_claim", "roles"),
            *("default_role", "creates_members", "readmits_members", "trusts_addresses", "enabled"),
            *("created_at", "updated_at"),
        ]

    def get_confirmed(self, row: SignOnProvider) -> bool:
        """By the operator."""
        return row.domain in self.context["confirmed"]

    def get_has_secret(self, row: SignOnProvider) -> bool:
        """Nothing more is said of it."""
        return bool(row.client_secret)

    def get_redirect_uri(self, row: SignOnProvider) -> str:
        """The same for each."""
        return flow.redirect_uri()


@extend_schema_serializer(component_name="SignOnProviderRequest")
class WantedProvider(serializers.Serializer[Any]):
    """What owners say of a provider; `gateway.sign_on.setup` checks it."""

    domain = serializers.CharField(help_text="It never changes.")
    issuer = serializers.CharField()
    client_id = serializers.CharField()
    client_secret = serializers.CharField(required=False, write_only=True)
    role_claim = serializers.CharField(required=False)
    roles = RoleOfValue(many=True, required=False)
    default_role = serializers.ChoiceField(choices=Role.choices, allow_blank=True, required=False)
    creates_members = serializers.BooleanField(required=False)
    readmits_members = serializers.BooleanField(required=False)
    trusts_addresses = serializers.BooleanField(required=False)
    enabled = serializers.BooleanField(required=False)


@extend_schema_serializer(component_name="SignOnFinding")
class Finding(serializers.Serializer[Any]):
    """One thing that was looked at."""

    what = serializers.ChoiceField(choices=["metadata", "keys"])
    ok = serializers.BooleanField()
    detail = serializers.CharField()


@extend_schema_serializer(component_name="SignOnTest")
class Tested(serializers.Serializer[Any]):
    """What a look at the provider shows."""

    ok = serializers.BooleanField()
    findings = Finding(many=True)


class _ByDomain(Pages):
    ordering = ("domain", "id")  # type: ignore[assignment]


class _SignOn(RowsView[SignOnProvider]):
    serializer_class = SignOnSerializer
    queryset = SignOnProvider.objects.none()
    pagination_class = _ByDomain
    scope = "admin"

    def rows(self) -> Any:
        """The tenant's."""
        return setup.of_tenant(self.principal)

    def get_serializer_context(self) -> dict[str, Any]:
        """Which domains are confirmed."""
        fake = getattr(self, "swagger_fake_view", False)
        return {
            **super().get_serializer_context(),
            "confirmed": set() if fake else setup.confirmed(self.principal),
        }

    def body(self) -> dict[str, Any]:
        """What was sent, once it is known to be an object of known members. Raises InvalidProvider."""
        given = self.request.data
        known = set(WantedProvider().fields)
        if not isinstance(given, dict) or given.keys() - known:
            raise InvalidProvider(f"The body is an object with {', '.join(sorted(known))}.")
        return given

    def said(self, row: SignOnProvider, status: int = 200) -> Response:
        """The provider as it is."""
        return Response(self.get_serializer(row).data, status, headers=etag(revision(sign_on=recorded.SIGN_ON.of(row))))


class SignOnListView(_SignOn, generics.ListAPIView[SignOnProvider]):
    """The tenant's providers."""

    @extend_schema(operation_id="list_sign_on_providers")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """By domain."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="create_sign_on_provider",
        request=WantedProvider,
        responses={201: SignOnSerializer, **refusals(InvalidProvider, ReauthenticationRequired, DomainTaken)},
    )
    def post(self, request: Request) -> Response:
        """Add one; people log in by it once the operator has confirmed its domain."""
        return self.said(setup.create(self.principal, self.body()), 201)


class SignOnView(_SignOn):
    """One provider."""

    etagged = True

    @extend_schema(operation_id="get_sign_on_provider", responses={200: SignOnSerializer, **refusals(NoSuchProvider)})
    def get(self, request: Request, id: Any) -> Response:
        """As it is, without its secret."""
        return self.said(setup.get(self.principal, id))

    @extend_schema(
        operation_id="change_sign_on_provider",
        request=WantedProvider,
        responses={200: SignOnSerializer, **refusals(InvalidProvider, ReauthenticationRequired, NoSuchProvider)},
    )
    def patch(self, request: Request, id: Any) -> Response:
        """Change what is named; another issuer or client id needs its own secret."""
        return self.said(setup.change(setup.get(self.principal, id), self.body()))

    @extend_schema(operation_id="remove_sign_on_provider", responses={204: None, **refusals(NoSuchProvider)})
    def delete(self, request: Request, id: Any) -> Response:
        """Nobody logs in by it any more; people stay members."""
        setup.remove(setup.get(self.principal, id))
        return Response(status=204)


class SignOnTestView(AsyncView):
    """A look at a provider."""

    scope = "admin"

    @extend_schema(
        operation_id="test_sign_on_provider", request=None, responses={200: Tested, **refusals(NoSuchProvider)}
    )
    async def post(self, request: Request, id: Any) -> Response:
        """Ask the provider what it says of itself; nobody is logged in by it."""
        found = await setup.test(await sync_to_async(self._issuer)(id))
        findings = [{"what": what, "ok": right, "detail": words} for what, right, words in found]
        return Response({"ok": all(right for _, right, _ in found), "findings": findings})

    def _issuer(self, id: Any) -> str:
        try:
            with transactions.scope(self.principal.tenant_id, self.principal.user_id):
                return setup.get(self.principal, id).issuer
        finally:
            connections["default"].close()
