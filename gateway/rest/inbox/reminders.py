"""The caller's reminders over REST: `/api/v1/reminders/`."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from gateway.rest.keeping.notes import plain
from notifications.inbox import reminders
from notifications.inbox.reminders import ImpossibleReminder
from notifications.models import Reminder
from tools.builtin.messages.create_reminder import CreateReminder

_LIMITS = CreateReminder.parameters["properties"]


class _Moment(serializers.DateTimeField):
    """A date-time with an offset: one without would be read in the server's own zone."""

    def enforce_timezone(self, value: Any) -> Any:
        """As it was given."""
        return value


@extend_schema_serializer(component_name="Reminder")
class ReminderSerializer(serializers.ModelSerializer[Reminder]):
    """A reminder; `fired_at` is when it was told, null while it waits."""

    text = serializers.CharField(
        min_length=1, max_length=_LIMITS["text"]["maxLength"], trim_whitespace=False, validators=[plain]
    )
    at = _Moment(help_text="ISO 8601 with an offset from UTC.")

    class Meta:
        model = Reminder
        fields = ["id", "text", "at", "call_id", "created_at", "fired_at"]
        read_only_fields = ["call_id", "created_at", "fired_at"]


class _NextFirst(Pages):
    ordering = ("at", "id")  # type: ignore[assignment]


class _Reminders(RowsView[Reminder]):
    """The caller's own; row-level security shows no others, and the filter says so once more."""

    scope = "chat"
    serializer_class: Any = ReminderSerializer
    pagination_class = _NextFirst
    lookup_field = "id"
    queryset = Reminder.objects.none()

    def rows(self) -> QuerySet[Reminder]:
        """The caller's own reminders."""
        return reminders.own(self.principal)


class ReminderListView(_Reminders, generics.ListAPIView[Reminder]):
    """Reminders, the earliest first; a new one."""

    @extend_schema(operation_id="list_reminders")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The caller's reminders, told and waiting."""
        return super().get(request, *args, **kwargs)

    @extend_schema(operation_id="create_reminder", responses={201: ReminderSerializer, **refusals(ImpossibleReminder)})
    def post(self, request: Request) -> Response:
        """A reminder of the caller's."""
        given = ReminderSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        row = reminders.create(self.principal, **given.validated_data)
        return Response(ReminderSerializer(row).data, 201)


@extend_schema_view(
    get=extend_schema(operation_id="get_reminder"), delete=extend_schema(operation_id="delete_reminder")
)
class ReminderView(_Reminders, generics.RetrieveDestroyAPIView[Reminder]):
    """One reminder: read, delete."""
