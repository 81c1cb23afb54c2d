"""The caller's inbox over REST: `/api/v1/inbox/`."""

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.chat.conversation_serializers import SentFileSerializer
from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from gateway.runs.errors import InvalidRequest
from notifications.inbox import entries
from notifications.models import InboxEntry


@extend_schema_serializer(component_name="InboxEntry")
class EntrySerializer(serializers.ModelSerializer[InboxEntry]):
    """Something that the caller was told; `path` is a path of this site, or empty."""

    media = SentFileSerializer(many=True, read_only=True)

    class Meta:
        model = InboxEntry
        fields = ["id", "kind", "title", "text", "path", "media", "call_id", "created_at", "read_at"]
        read_only_fields = fields


@extend_schema_serializer(component_name="InboxEntryChange")
class EntryChange(serializers.Serializer[Any]):
    """Whether it was read."""

    read = serializers.BooleanField()


@extend_schema_serializer(component_name="InboxMarked")
class Marked(serializers.Serializer[Any]):
    """How many entries had not been read."""

    marked = serializers.IntegerField()


@extend_schema_serializer(component_name="InboxUnread")
class Unread(serializers.Serializer[Any]):
    """How many entries the caller has not read; `more`: there are more than that."""

    count = serializers.IntegerField()
    more = serializers.BooleanField()


class _Entries(RowsView[InboxEntry]):
    """The caller's own; row-level security shows no others, and the filter says so once more."""

    scope = "chat"
    serializer_class = EntrySerializer
    lookup_field = "id"
    queryset = InboxEntry.objects.none()

    def rows(self) -> QuerySet[InboxEntry]:
        """The caller's own entries."""
        unread = self.request.query_params.get("unread", "")
        if unread not in ("", "true", "false"):
            raise InvalidRequest("unread must be true or false.", "unread")
        return entries.own(self.principal, unread=unread == "true")


class InboxView(_Entries, generics.ListAPIView[InboxEntry]):
    """Entries, newest first."""

    @extend_schema(
        operation_id="list_inbox",
        parameters=[OpenApiParameter("unread", bool, description="Only those that were not read.")],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The caller's entries, newest first."""
        return super().get(request, *args, **kwargs)


class InboxUnreadView(_Entries):
    """The number of unread entries."""

    @extend_schema(operation_id="count_unread_inbox", responses={200: Unread})
    def get(self, request: Request) -> Response:
        """How many entries are unread."""
        count = entries.unread(self.principal)
        return Response({"count": min(count, entries.MOST), "more": count > entries.MOST})


class InboxReadView(_Entries):
    """All entries."""

    @extend_schema(operation_id="mark_inbox_read", request=None, responses={200: Marked})
    def post(self, request: Request) -> Response:
        """Say that every entry was read."""
        return Response({"marked": entries.mark_all(self.principal)})


@extend_schema_view(
    get=extend_schema(operation_id="get_inbox_entry"), delete=extend_schema(operation_id="delete_inbox_entry")
)
class InboxEntryView(_Entries, generics.RetrieveDestroyAPIView[InboxEntry]):
    """One entry: read, mark, delete."""

    @extend_schema(
        operation_id="mark_inbox_entry",
        request=EntryChange,
        responses={200: EntrySerializer, **refusals(InvalidRequest)},
    )
    def patch(self, request: Request, id: uuid.UUID) -> Response:
        """Say whether it was read."""
        # What is not there is not found, whatever is said of it.
        if not entries.own(self.principal).filter(id=id).exists():
            raise NotFound("There is no such entry in your inbox.")
        given = EntryChange(data=request.data)
        given.is_valid(raise_exception=True)
        entry = entries.mark(self.principal, id, read=given.validated_data["read"])
        if entry is None:
            raise NotFound("There is no such entry in your inbox.")
        return Response(EntrySerializer(entry).data)
