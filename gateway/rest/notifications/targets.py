"""Notification targets over REST: `/api/v1/notification-targets/`, for owners."""

import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from notifications import targets
from notifications.models import NotificationTarget
from notifications.targets import NoSuchTarget, RefusedTarget, TargetTaken
from tenants.login.reauthentication import ReauthenticationRequired


@extend_schema_serializer(component_name="NotificationTarget")
class TargetSerializer(serializers.ModelSerializer[NotificationTarget]):
    """A target, without its secret."""

    class Meta:
        model = NotificationTarget
        fields = ["id", "channel", "name", "destination", "events", "enabled", "disabled_because", "created_at"]


@extend_schema_serializer(component_name="NewNotificationTarget")
class NewTargetSerializer(TargetSerializer):
    """A target that was just made: the `secret` that its messages are signed with is shown this once, or null."""

    secret = serializers.CharField(allow_null=True)

    class Meta(TargetSerializer.Meta):
        fields = [*TargetSerializer.Meta.fields, "secret"]


class _Name(serializers.CharField):
    def run_validation(self, data: Any = "") -> Any:
        """One line of text."""
        value = super().run_validation(data)
        if isinstance(value, str) and not value.isprintable():
            raise serializers.ValidationError("The name must be one line of characters that can be printed.")
        return value


@extend_schema_serializer(component_name="NotificationTargetRequest")
class WantedTarget(serializers.Serializer[Any]):
    """A target to be made."""

    channel = serializers.CharField(max_length=100, help_text="email, webhook or slack.")
    destination = serializers.CharField(
        max_length=2048, help_text="What the channel asks for; of Slack it is a secret."
    )
    events = serializers.ListField(child=serializers.CharField(max_length=100), max_length=100)
    name = _Name(max_length=200, allow_blank=True, default="")
    enabled = serializers.BooleanField(default=True)


@extend_schema_serializer(component_name="NotificationTargetChange")
class TargetChange(serializers.Serializer[Any]):
    """What can change about a target; its destination cannot."""

    name = _Name(max_length=200, allow_blank=True, required=False)
    events = serializers.ListField(child=serializers.CharField(max_length=100), max_length=100, required=False)
    enabled = serializers.BooleanField(required=False)


@extend_schema_serializer(component_name="NotificationTrial")
class Trial(serializers.Serializer[Any]):
    """What became of a message that was sent to a target."""

    delivered = serializers.BooleanField()
    problem = serializers.CharField(allow_null=True, help_text="Why it did not arrive.")


class _Targets(RowsView[NotificationTarget]):
    serializer_class = TargetSerializer
    queryset = NotificationTarget.objects.none()
    scope = "admin"

    def rows(self) -> QuerySet[NotificationTarget]:
        """The tenant's."""
        return NotificationTarget.objects.filter(tenant_id=self.principal.tenant_id)


@extend_schema_view(get=extend_schema(operation_id="list_notification_targets"))
class TargetListView(_Targets, generics.ListAPIView[NotificationTarget]):
    """The tenant's targets, newest first; and a new one."""

    @extend_schema(
        operation_id="create_notification_target",
        request=WantedTarget,
        responses={201: NewTargetSerializer, **refusals(RefusedTarget, TargetTaken, ReauthenticationRequired)},
    )
    def post(self, request: Request) -> Response:
        """Make a target; a secret that was made for it is in this answer alone."""
        wanted = WantedTarget(data=request.data)
        wanted.is_valid(raise_exception=True)
        given = dict(wanted.validated_data)
        row, accepted = targets.make(self.principal, wanted=given.pop("events"), **given)
        row_and_secret: Any = row
        row_and_secret.secret = accepted.secret if accepted.shown_once else None
        return Response(NewTargetSerializer(row_and_secret).data, 201, headers={"Cache-Control": "no-store"})


class TargetView(_Targets):
    """One target."""

    @extend_schema(operation_id="get_notification_target", responses={200: TargetSerializer, **refusals(NoSuchTarget)})
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """The target."""
        try:
            return Response(TargetSerializer(self.get_queryset().get(pk=id)).data)
        except (NotificationTarget.DoesNotExist, ValidationError):
            raise NoSuchTarget from None

    @extend_schema(
        operation_id="update_notification_target",
        request=TargetChange,
        responses={200: TargetSerializer, **refusals(RefusedTarget, NoSuchTarget, ReauthenticationRequired)},
    )
    def patch(self, request: Request, id: uuid.UUID) -> Response:
        """Change its name or events, or switch it off and on; it is never deleted."""
        self.get(request, id)
        given = TargetChange(data=request.data)
        given.is_valid(raise_exception=True)
        return Response(TargetSerializer(targets.change(self.principal, id, **given.validated_data)).data)


class TargetTestView(AsyncView):
    """Trying a target."""

    scope = "admin"

    @extend_schema(
        operation_id="test_notification_target", request=None, responses={200: Trial, **refusals(NoSuchTarget)}
    )
    async def post(self, request: Request, id: uuid.UUID) -> Response:
        """Send a message to it now; of `deciders` and `requester` to the caller's own address."""
        problem = await targets.try_out(self.principal, id)
        return await sync_to_async(Response)({"delivered": not problem, "problem": problem or None})
