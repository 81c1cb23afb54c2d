"""The caller's destinations over REST: `/api/v1/destinations/`."""

import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from notifications.destinations import changes, verifying
from notifications.destinations.errors import (
    AskedTooOften,
    DestinationTaken,
    NoSuchDestination,
    NotVerified,
    RefusedDestination,
)
from notifications.models import Destination
from tenants.login.reauthentication import ReauthenticationRequired, demand
from tenants.people.changes import acting


@extend_schema_serializer(component_name="Destination")
class DestinationSerializer(serializers.ModelSerializer[Destination]):
    """A destination of the caller's, without its secret; it is sent to once `verified_at` is set."""

    class Meta:
        model = Destination
        fields = [
            *("id", "name", "channel", "destination", "reminders", "verified_at", "disabled_because", "created_at"),
        ]


@extend_schema_serializer(component_name="NewDestination")
class NewDestinationSerializer(DestinationSerializer):
    """A destination that was just made: the `secret` that its messages are signed with is shown this once, or null."""

    secret = serializers.CharField(allow_null=True)

    class Meta(DestinationSerializer.Meta):
        fields = [*DestinationSerializer.Meta.fields, "secret"]


@extend_schema_serializer(component_name="DestinationRequest")
class WantedDestination(serializers.Serializer[Any]):
    """A destination to be made."""

    name = serializers.CharField(max_length=200, help_text="What models call it.")
    channel = serializers.CharField(max_length=100, help_text="email, webhook or slack.")
    destination = serializers.CharField(
        max_length=2048, help_text="What the channel asks for; of Slack it is a secret."
    )
    reminders = serializers.BooleanField(default=False, help_text="Reminders are sent to it, too.")


@extend_schema_serializer(component_name="DestinationChange")
class DestinationChange(serializers.Serializer[Any]):
    """What can change about a destination; where it leads cannot."""

    name = serializers.CharField(max_length=200, required=False)
    reminders = serializers.BooleanField(required=False)


class _Destinations(RowsView[Destination]):
    """The caller's own; row-level security shows no others, and the filter says so once more."""

    scope = "chat"
    serializer_class = DestinationSerializer
    lookup_field = "id"
    queryset = Destination.objects.none()

    def rows(self) -> QuerySet[Destination]:
        """The caller's own destinations."""
        return changes.own(self.principal)


@extend_schema_view(get=extend_schema(operation_id="list_destinations"))
class DestinationListView(_Destinations, generics.ListAPIView[Destination]):
    """The caller's destinations, newest first; and a new one."""

    @extend_schema(
        operation_id="create_destination",
        request=WantedDestination,
        responses={
            201: NewDestinationSerializer,
            **refusals(RefusedDestination, DestinationTaken, ReauthenticationRequired),
        },
    )
    def post(self, request: Request) -> Response:
        """Make a destination, which is not verified yet; a secret that was made for it is in this answer alone."""
        if self.principal.key_id is None:
            # Models will send there without asking. A key's program can send what it reads anywhere by itself.
            demand(request, self.principal)
        wanted = WantedDestination(data=request.data)
        wanted.is_valid(raise_exception=True)
        row, accepted = changes.make(self.principal, **wanted.validated_data)
        secret = accepted.secret if accepted.shown_once else None
        body = {**DestinationSerializer(row).data, "secret": secret}
        return Response(body, 201, headers={"Cache-Control": "no-store"})


@extend_schema_view(get=extend_schema(operation_id="get_destination"))
class DestinationView(_Destinations, generics.RetrieveAPIView[Destination]):
    """One destination."""

    @extend_schema(
        operation_id="update_destination",
        request=DestinationChange,
        responses={200: DestinationSerializer, **refusals(RefusedDestination, DestinationTaken, NoSuchDestination)},
    )
    def patch(self, request: Request, id: uuid.UUID) -> Response:
        """Change its name, or whether reminders go to it."""
        given = DestinationChange(data=request.data)
        given.is_valid(raise_exception=True)
        return Response(DestinationSerializer(changes.change(self.principal, id, **given.validated_data)).data)

    @extend_schema(operation_id="delete_destination", responses={204: None, **refusals(NoSuchDestination)})
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """Remove it, with its secret; what waits for it is not delivered any more."""
        changes.remove(self.principal, id)
        return Response(status=204)


class DestinationVerifyView(AsyncView):
    """Verifying a destination."""

    @extend_schema(
        operation_id="verify_destination",
        request=None,
        responses={200: DestinationSerializer, **refusals(NoSuchDestination, NotVerified, AskedTooOften)},
    )
    async def post(self, request: Request, id: uuid.UUID) -> Response:
        """Have it prove itself: a challenge for a webhook, a test for Slack, a link in an e-mail, which stays to be
        opened by its person."""
        with acting(self.principal.user_id, "api"):
            row = await verifying.ask(self.principal, id)
        return await sync_to_async(Response)(await sync_to_async(lambda: DestinationSerializer(row).data)())
