"""The user's conversations over REST."""

import uuid
from typing import Any

from asgiref.sync import async_to_sync
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import generics
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.models import Conversation, Message
from gateway.rest.chat import conversation_serializers as serializers
from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.schema import ProblemSchema, refusals
from gateway.runs.conversations import branching, erasure
from gateway.runs.conversations import search as conversation_search
from gateway.runs.conversations.searching import searching
from gateway.runs.errors import ConversationBusy, NoSuchConversation, NoSuchRun, RunNotOver, StillOpen
from tenants.login.views import WithinTenant
from tenants.scope.transactions import TenantScope

_FOUND_BY = (
    "Only conversations that have each of these words in their title, or in the beginning of one of the caller's "
    f"latest messages in them; up to {conversation_search.LONGEST} characters."
)


class _ByUpdate(Pages):
    ordering = "-updated_at"


class _ByCreation(Pages):
    ordering = "created_at"


class _Conversations(WithinTenant, generics.GenericAPIView[Conversation]):
    """The caller's own; row-level security shows no others, and the filter says so once more."""

    scope = "chat"
    schema = ProblemSchema()
    serializer_class = serializers.ConversationSerializer
    pagination_class: type[CursorPagination] = _ByUpdate
    lookup_field = "id"
    queryset = Conversation.objects.all()

    def get_queryset(self) -> QuerySet[Conversation]:
        """The caller's own conversations."""
        if getattr(self, "swagger_fake_view", False):
            return Conversation.objects.none()
        return Conversation.objects.filter(user_id=self.principal.user_id)


@extend_schema_view(
    get=extend_schema(operation_id="list_conversations"), post=extend_schema(operation_id="create_conversation")
)
class ConversationListView(_Conversations, generics.ListCreateAPIView[Conversation]):
    """Conversations, last used first; a new empty one."""

    def get_queryset(self) -> QuerySet[Conversation]:
        """The caller's own conversations; with `?q=`, those that the words are found in."""
        if getattr(self, "swagger_fake_view", False):
            return Conversation.objects.none()
        return conversation_search.own(self.principal, self._words)

    @property
    def _words(self) -> str:
        return self.request.query_params.get("q", "")

    @extend_schema(parameters=[OpenApiParameter("q", str, description=_FOUND_BY)])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The caller's conversations, last used first; `?q=` searches them."""
        with searching(self.principal, self._words):
            return super().get(request, *args, **kwargs)

    def perform_create(self, serializer: Any) -> None:
        """A conversation of the caller's."""
        serializer.save(tenant_id=self.principal.tenant_id, user_id=self.principal.user_id)


@extend_schema_view(
    get=extend_schema(operation_id="get_conversation"), patch=extend_schema(operation_id="update_conversation")
)
class ConversationDetailView(_Conversations, generics.RetrieveUpdateDestroyAPIView[Conversation]):
    """One conversation: read, rename, delete."""

    http_method_names = ["get", "patch", "delete", "head", "options"]

    @extend_schema(
        operation_id="delete_conversation",
        parameters=[OpenApiParameter("erase", bool, description="Erase its calls' payloads, too.")],
        responses={204: None, **refusals(ConversationBusy, StillOpen)},
    )
    def delete(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Delete a conversation with its messages and runs; its tool calls stay in the audit log as they are, or with
        `?erase=true` without their payloads."""
        return super().delete(request, *args, **kwargs)

    def perform_destroy(self, instance: Conversation) -> None:
        """Not while a run is open."""
        if self.request.query_params.get("erase") == "true":
            async_to_sync(erasure.ask)(self.principal, "conversation", instance.id)
            return
        async_to_sync(erasure.delete)(TenantScope(self.principal.tenant_id, self.principal.user_id), instance.id)


class ConversationBranchView(WithinTenant, generics.GenericAPIView[Conversation]):
    """A new conversation that goes on from one."""

    scope = "chat"
    schema = ProblemSchema()
    serializer_class = serializers.BranchSerializer
    queryset = Conversation.objects.none()

    @extend_schema(
        operation_id="branch_conversation",
        responses={
            201: serializers.ConversationSerializer,
            **refusals(NoSuchConversation, NoSuchRun, RunNotOver),
        },
    )
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Begin a conversation that knows what was said in this one, up to a run of it."""
        wanted = self.get_serializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        principal = self.principal
        scope = TenantScope(principal.tenant_id, principal.user_id)
        made = async_to_sync(branching.branch)(scope, id, **wanted.validated_data)
        shown = serializers.ConversationSerializer(Conversation.objects.get(id=made))
        return Response(shown.data, status=201)


@extend_schema_view(get=extend_schema(operation_id="list_messages"))
class MessageListView(WithinTenant, generics.ListAPIView[Message]):
    """A conversation's messages, oldest first."""

    scope = "chat"
    schema = ProblemSchema()
    serializer_class = serializers.MessageSerializer
    pagination_class = _ByCreation
    filter_backends: list[Any] = []
    queryset = Message.objects.all()

    def get_queryset(self) -> QuerySet[Message]:
        """404 for a conversation that is not the caller's."""
        if getattr(self, "swagger_fake_view", False):
            return Message.objects.none()
        conversation_id: uuid.UUID = self.kwargs["id"]
        if not Conversation.objects.filter(id=conversation_id, user_id=self.principal.user_id).exists():
            raise NotFound("There is no such conversation of yours.")
        return Message.objects.filter(conversation_id=conversation_id, user_id=self.principal.user_id)
