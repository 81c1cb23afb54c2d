"""What was sent in the caller's name, over REST: `/api/v1/messages/`."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers

from gateway.rest.chat.conversation_serializers import SentFileSerializer
from gateway.rest.framework.rows import RowsView
from notifications.destinations import sending
from notifications.models import SentMessage


@extend_schema_serializer(component_name="SentMessage")
class SentMessageSerializer(serializers.ModelSerializer[SentMessage]):
    """A message to a destination or address, and how far it is; `problem` is why the last attempt failed."""

    to = serializers.CharField(source="recipient")
    operation = serializers.DictField(allow_null=True)
    media = SentFileSerializer(many=True, read_only=True)
    next_attempt_at = serializers.DateTimeField(
        allow_null=True, read_only=True, help_text="When it is tried next; null when it waits no longer."
    )

    class Meta:
        model = SentMessage
        fields = [
            *("id", "kind", "to", "channel", "text", "operation", "media", "status", "problem", "call_id"),
            *("created_at", "finished_at", "next_attempt_at"),
        ]
        read_only_fields = fields


class _Sent(RowsView[SentMessage]):
    """The caller's own; row-level security shows no others, and the filter says so once more."""

    scope = "chat"
    serializer_class = SentMessageSerializer
    lookup_field = "id"
    queryset = SentMessage.objects.none()

    def rows(self) -> QuerySet[SentMessage]:
        """What was sent in the caller's name."""
        return sending.own(self.principal)


@extend_schema_view(get=extend_schema(operation_id="list_sent_messages"))
class SentListView(_Sent, generics.ListAPIView[SentMessage]):
    """Messages, newest first."""


@extend_schema_view(
    get=extend_schema(operation_id="get_sent_message"), delete=extend_schema(operation_id="delete_sent_message")
)
class SentView(_Sent, generics.RetrieveDestroyAPIView[SentMessage]):
    """One message: read, delete; one that waits is not delivered any more then."""
