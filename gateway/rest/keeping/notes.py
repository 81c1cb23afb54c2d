"""The caller's notes over REST: `/api/v1/notes/`."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from gateway.runs.errors import InvalidRequest
from tools.builtin.notes.save_note import SaveNote
from tools.keeping import notes
from tools.keeping.errors import ChangedMeanwhile
from tools.models import Note
from tools.schemas.arguments import is_plain

_LIMITS = SaveNote.parameters["properties"]
_FOUND_BY = (
    'Only notes that fit these words, best first, at most 100 and on one page: a "phrase" as it is, -without, or.'
)


def plain(value: str) -> None:
    """Refuse control characters but newline and tab. Raises ValidationError."""
    if not is_plain(value):
        raise serializers.ValidationError("Control characters other than newline and tab are not accepted.")


@extend_schema_serializer(component_name="Note")
class NoteSerializer(serializers.ModelSerializer[Note]):
    """A note of the caller's."""

    title = serializers.CharField(
        min_length=1, max_length=_LIMITS["title"]["maxLength"], trim_whitespace=False, validators=[plain]
    )
    content = serializers.CharField(
        max_length=_LIMITS["content"]["maxLength"], allow_blank=True, trim_whitespace=False, validators=[plain]
    )
    tags = serializers.ListField(
        child=serializers.CharField(
            max_length=_LIMITS["tags"]["items"]["maxLength"], trim_whitespace=False, validators=[plain]
        ),
        max_length=_LIMITS["tags"]["maxItems"],
        default=list,
    )

    class Meta:
        model = Note
        fields = ["id", "title", "content", "tags", "created_at", "updated_at"]
        read_only_fields = ["created_at", "updated_at"]


@extend_schema_serializer(component_name="NoteChange")
class NoteChange(NoteSerializer):
    """What is to be changed; `seen` is the note's `updated_at` as it was read, for a change of that and no other."""

    seen = serializers.DateTimeField(required=False, write_only=True)

    class Meta(NoteSerializer.Meta):
        fields = [*NoteSerializer.Meta.fields, "seen"]


@extend_schema_serializer(component_name="FoundNote")
class FoundNote(serializers.Serializer[Any]):
    """A note that fits a search, and where."""

    id = serializers.UUIDField(source="note_id")
    title = serializers.CharField()
    snippet = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()


class FoundNotes(serializers.Serializer[Any]):
    """What was found, on one page."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = FoundNote(many=True)


class _Notes(RowsView[Note]):
    """The caller's own; row-level security shows no others, and the filter says so once more."""

    scope = "chat"
    serializer_class: Any = NoteSerializer
    lookup_field = "id"
    queryset = Note.objects.none()

    def rows(self) -> QuerySet[Note]:
        """The caller's own notes."""
        return notes.own(self.principal, tag=self.request.query_params.get("tag", "").replace("\0", " "))


@extend_schema_view(post=extend_schema(operation_id="create_note"))
class NoteListView(_Notes, generics.ListCreateAPIView[Note]):
    """Notes, newest first; a new one."""

    @extend_schema(
        operation_id="list_notes",
        parameters=[OpenApiParameter("tag", str, description="Only notes that are filed under it.")],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The caller's notes, newest first."""
        return super().get(request, *args, **kwargs)

    def perform_create(self, serializer: Any) -> None:
        """A note of the caller's."""
        serializer.instance = notes.create(self.principal, **serializer.validated_data)


class NoteSearchView(_Notes):
    """Notes by their words."""

    @extend_schema(
        operation_id="search_notes",
        parameters=[OpenApiParameter("q", str, required=True, description=_FOUND_BY)],
        responses={200: FoundNotes, **refusals(InvalidRequest)},
    )
    def get(self, request: Request) -> Response:
        """The caller's notes that fit the words, best first."""
        query = request.query_params.get("q", "")
        if not query or len(query) > notes.LONGEST_QUERY:
            raise InvalidRequest(f"q must have 1 to {notes.LONGEST_QUERY} characters.", "q")
        found = FoundNote(notes.search(query), many=True).data
        return Response({"next": None, "previous": None, "results": found})


@extend_schema_view(get=extend_schema(operation_id="get_note"), delete=extend_schema(operation_id="delete_note"))
class NoteView(_Notes, generics.RetrieveDestroyAPIView[Note]):
    """One note: read, change, delete."""

    @extend_schema(
        operation_id="update_note", request=NoteChange, responses={200: NoteSerializer, **refusals(ChangedMeanwhile)}
    )
    def patch(self, request: Request, id: Any) -> Response:
        """Change title, content or tags; what is left out stays."""
        given = NoteChange(data=request.data, partial=True)
        given.is_valid(raise_exception=True)
        changes = dict(given.validated_data)
        note = notes.change(self.principal, id, changes, changes.pop("seen", None))
        if note is None:
            raise NotFound("There is no such note of yours.")
        return Response(NoteSerializer(note).data)
