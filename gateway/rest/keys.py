"""API keys over REST: one's own; owners see and revoke all of their tenant's."""

from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.approvals.request_serializers import Someone
from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from gateway.runs.errors import InvalidRequest
from tenants.login import reauthentication
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.models import ApiKey
from tenants.people import keys
from tenants.people.keys import EndedKey, NarrowedKey, NotTheirKey, TooManyKeys, UnknownScope
from tenants.people.principal import SCOPES

ALL_SCOPES = sorted(frozenset().union(*SCOPES.values()))


@extend_schema_serializer(component_name="ApiKey")
class KeySerializer(serializers.ModelSerializer[ApiKey]):
    """A key, without the key itself: `prefix` is how it begins."""

    user = Someone()
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=ALL_SCOPES),
        allow_null=True,
        help_text="Null: everything that the role allows.",
    )

    class Meta:
        model = ApiKey
        fields = ["id", "name", "prefix", "user", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at"]


@extend_schema_serializer(component_name="NewApiKey")
class NewKeySerializer(KeySerializer):
    """A key that was just made: `key` is shown this once."""

    key = serializers.CharField()

    class Meta(KeySerializer.Meta):
        fields = [*KeySerializer.Meta.fields, "key"]


@extend_schema_serializer(component_name="ApiKeyRequest")
class WantedKey(serializers.Serializer[Any]):
    """A key to be made."""

    name = serializers.CharField(max_length=200, allow_blank=True, default="")
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=ALL_SCOPES),
        min_length=1,
        max_length=len(ALL_SCOPES),
        allow_null=True,
        default=None,
        help_text="Null: everything that the role allows.",
    )
    expires_at = serializers.DateTimeField(allow_null=True, default=None, help_text="Null: never.")

    def validate_name(self, value: str) -> str:
        """One line of text."""
        if not value.isprintable():
            raise serializers.ValidationError("The name must be one line of characters that can be printed.")
        return value

    def validate_expires_at(self, value: Any) -> Any:
        """In the future."""
        if value is not None and value <= timezone.now():
            raise serializers.ValidationError("The end must be in the future.")
        return value


@extend_schema_serializer(component_name="ApiKeyRotation")
class Rotation(serializers.Serializer[Any]):
    """How the old key ends."""

    overlap = serializers.IntegerField(
        min_value=0,
        max_value=int(keys.LONGEST_OVERLAP.total_seconds()),
        default=0,
        help_text="For how many seconds the old key still works.",
    )


class _Keys(RowsView[ApiKey]):
    """Whoever is a member, whatever their key is narrowed to: what a key may do here is decided key by key."""

    serializer_class = KeySerializer
    queryset = ApiKey.objects.none()
    scope = "tools:read"

    def rows(self) -> QuerySet[ApiKey]:
        """Those that the caller sees."""
        return keys.seen_by(self.principal)

    def named(self, id: Any) -> ApiKey:
        """One of them. Raises NotFound."""
        try:
            return self.get_queryset().get(pk=id)
        except (ApiKey.DoesNotExist, ValidationError):
            raise NotFound("There is no such key.") from None

    @staticmethod
    def made(row: ApiKey, key: str) -> Response:
        """A new key, this once."""
        row.key = key  # type: ignore[attr-defined]
        return Response(NewKeySerializer(row).data, 201, headers={"Cache-Control": "no-store"})


@extend_schema_view(get=extend_schema(operation_id="list_keys"))
class KeyListView(_Keys, generics.ListAPIView[ApiKey]):
    """The caller's keys, newest first; owners see all of the tenant. And a new key."""

    @extend_schema(
        operation_id="create_key",
        request=WantedKey,
        responses={
            201: NewKeySerializer,
            **refusals(InvalidRequest, NarrowedKey, ReauthenticationRequired, TooManyKeys),
        },
    )
    def post(self, request: Request) -> Response:
        """Make a key for oneself; the answer is the only one that has it."""
        wanted = WantedKey(data=request.data)
        wanted.is_valid(raise_exception=True)
        reauthentication.demand_for_key(request, self.principal, wanted.validated_data["scopes"])
        try:
            return self.made(*keys.make(self.principal, **wanted.validated_data))
        except UnknownScope as beyond:
            raise InvalidRequest(f"scopes: {beyond}.", "scopes") from None


class KeyView(_Keys):
    """One key."""

    @extend_schema(operation_id="get_key")
    def get(self, request: Request, id: Any) -> Response:
        """The key, as far as it is known."""
        return Response(KeySerializer(self.named(id)).data)

    @extend_schema(operation_id="revoke_key", responses={204: None, **refusals(NarrowedKey)})
    def delete(self, request: Request, id: Any) -> Response:
        """Revoke it at once; it stays in the list, so that its past use can be explained."""
        keys.revoke(self.principal, self.named(id))
        return Response(status=204)


class KeyRotateView(_Keys):
    """A new key in the place of an old one."""

    @extend_schema(
        operation_id="rotate_key",
        request=Rotation,
        responses={
            201: NewKeySerializer,
            **refusals(NarrowedKey, NotTheirKey, ReauthenticationRequired, EndedKey, TooManyKeys),
        },
    )
    def post(self, request: Request, id: Any) -> Response:
        """Make a new key with the name, scopes and end of this one, which ends after `overlap` seconds."""
        given = Rotation(data=request.data)
        given.is_valid(raise_exception=True)
        row = self.named(id)
        reauthentication.demand_for_key(request, self.principal, row.scopes)
        return self.made(*keys.rotate(self.principal, row, timedelta(seconds=given.validated_data["overlap"])))
