"""The canvas of a conversation of the caller's over REST: `/api/v1/conversations/{id}/canvas/`."""

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.models import Conversation
from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.rows import RowsView
from tools.keeping import canvases
from tools.models import CanvasVersion


@extend_schema_serializer(component_name="CanvasVersion")
class CanvasVersionSerializer(serializers.ModelSerializer[CanvasVersion]):
    """A version of a canvas; `call_id` is the tool call that drew it."""

    class Meta:
        model = CanvasVersion
        fields = ["id", "version", "title", "call_id", "created_at"]
        read_only_fields = fields


@extend_schema_serializer(component_name="CanvasPage")
class CanvasPageSerializer(CanvasVersionSerializer):
    """A version with what it shows. `view_path` shows it in a frame of Toolgate's own pages until `view_expires_at`."""

    view_path = serializers.CharField(read_only=True)
    view_expires_at = serializers.DateTimeField(read_only=True)

    class Meta(CanvasVersionSerializer.Meta):
        fields = [*CanvasVersionSerializer.Meta.fields, "html", "css", "js", "view_path", "view_expires_at"]
        read_only_fields = fields


class _NewestFirst(Pages):
    ordering = "-version"


class _Canvas(RowsView[CanvasVersion]):
    """The caller's own; row-level security shows no others, and the filter says so once more."""

    scope = "chat"
    serializer_class: Any = CanvasVersionSerializer
    pagination_class = _NewestFirst
    lookup_field = "version"
    queryset = CanvasVersion.objects.none()

    def rows(self) -> QuerySet[CanvasVersion]:
        """The versions; 404 for a conversation that is not the caller's."""
        conversation_id: uuid.UUID = self.kwargs["id"]
        if not Conversation.objects.filter(id=conversation_id, user_id=self.principal.user_id).exists():
            raise NotFound("There is no such conversation of yours.")
        return canvases.own(self.principal, conversation_id)


class CanvasView(_Canvas, generics.ListAPIView[CanvasVersion]):
    """A conversation's canvas: its versions; all of it deleted."""

    def get_queryset(self) -> QuerySet[CanvasVersion]:
        """The versions, without what they show."""
        return super().get_queryset().defer("html", "css", "js")

    @extend_schema(operation_id="list_canvas_versions")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The versions of the conversation's canvas, newest first; the last 50 are kept."""
        return super().get(request, *args, **kwargs)

    @extend_schema(operation_id="delete_canvas", responses={204: None})
    def delete(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Delete the conversation's canvas with all its versions; the calls that drew it stay in the history."""
        deleted, _ = super().get_queryset().delete()
        if not deleted:
            raise NotFound("This conversation has no canvas.")
        return Response(status=204)


@extend_schema_view(get=extend_schema(operation_id="get_canvas_version"))
class CanvasVersionView(_Canvas, generics.RetrieveAPIView[CanvasVersion]):
    """One version, with its HTML, CSS and JavaScript."""

    serializer_class = CanvasPageSerializer

    def get_object(self) -> CanvasVersion:
        """The version, with a link that shows it."""
        version = super().get_object()
        version.view_path, version.view_expires_at = canvases.link(version)  # type: ignore[attr-defined]
        return version
