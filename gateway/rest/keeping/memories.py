"""What models remember for the caller, over REST: `/api/v1/memories/`."""

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
from tools.keeping import memories
from tools.keeping.errors import SharedMemory
from tools.models import Memory

_FOUND_BY = 'Only what fits these words, best first, at most 100 and on one page: a "phrase" as it is, -without, or.'


@extend_schema_serializer(component_name="Memory")
class MemorySerializer(serializers.ModelSerializer[Memory]):
    """A memory: `author_id` is whose call `source_call_id` stored it, and `taint` what its conversation had read."""

    agent = serializers.SerializerMethodField()
    author_id = serializers.UUIDField(read_only=True)
    taint = serializers.ListField(child=serializers.ChoiceField(choices=["private", "untrusted"]), read_only=True)

    class Meta:
        model = Memory
        fields = ["id", "content", "tags", "scope", "agent", "taint", "author_id", "source_call_id", "created_at"]
        read_only_fields = fields

    def get_agent(self, memory: Memory) -> str | None:
        """The slug of the agent that is given it; null: every agent."""
        return memory.agent if memory.scope == Memory.Scope.AGENT else None


class FoundMemories(serializers.Serializer[Any]):
    """What was found, on one page."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = MemorySerializer(many=True)


class _Memories(RowsView[Memory]):
    """The caller's own and the tenant's; row-level security shows no others, and the filter says so once more."""

    scope = "chat"
    serializer_class: Any = MemorySerializer
    lookup_field = "id"
    queryset = Memory.objects.none()

    def rows(self) -> QuerySet[Memory]:
        """What models are given for the caller."""
        scope = self.request.query_params.get("scope", "")
        if scope and scope not in Memory.Scope.values:
            raise InvalidRequest("scope must be user, agent or tenant.", "scope")
        tag = self.request.query_params.get("tag", "").replace("\0", " ")
        return memories.visible(self.principal, scope=scope, tag=tag)


class MemoryListView(_Memories, generics.ListAPIView[Memory]):
    """What is remembered, newest first."""

    @extend_schema(
        operation_id="list_memories",
        parameters=[
            OpenApiParameter("scope", str, enum=Memory.Scope.values),
            OpenApiParameter("tag", str, description="Only what is filed under it."),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """What models are given for the caller: their own, and the tenant's; newest first."""
        return super().get(request, *args, **kwargs)


class MemorySearchView(_Memories):
    """What is remembered, by its words."""

    @extend_schema(
        operation_id="search_memories",
        parameters=[OpenApiParameter("q", str, required=True, description=_FOUND_BY)],
        responses={200: FoundMemories, **refusals(InvalidRequest)},
    )
    def get(self, request: Request) -> Response:
        """What fits the words, best first."""
        query = request.query_params.get("q", "")
        if not query or len(query) > memories.LONGEST_QUERY:
            raise InvalidRequest(f"q must have 1 to {memories.LONGEST_QUERY} characters.", "q")
        found = MemorySerializer(memories.search(query), many=True).data
        return Response({"next": None, "previous": None, "results": found})


@extend_schema_view(get=extend_schema(operation_id="get_memory"))
class MemoryView(_Memories, generics.RetrieveAPIView[Memory]):
    """One memory: read, delete."""

    @extend_schema(operation_id="delete_memory", responses={204: None, **refusals(SharedMemory)})
    def delete(self, request: Request, id: Any) -> Response:
        """Delete it: one's own, what one has stored for the tenant, and owners what others have."""
        if not memories.delete(self.principal, id):
            raise NotFound("There is no such memory.")
        return Response(status=204)
