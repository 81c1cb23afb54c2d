"""What the caller's calls ask them, over REST: `/api/v1/questions/`."""

import uuid
from typing import Any

import django_filters
from asgiref.sync import sync_to_async
from django.db.models import QuerySet
from django_filters.rest_framework import DjangoFilterBackend, FilterSet
from drf_spectacular.utils import extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.models import Question
from approvals.questions import answering
from approvals.questions.errors import AlreadyAnswered, InvalidAnswer, NoSuchQuestion, QuestionExpired
from approvals.requests import parsing
from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.schema import ProblemSchema, refusals
from gateway.runs.errors import InvalidRequest
from tenants.login.views import WithinTenant
from tools.schemas import arguments


@extend_schema_serializer(component_name="Question")
class QuestionBody(serializers.Serializer[Any]):
    """A question of a call to its user: for an answer that fits `schema`, or to visit the page `url`."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=Question.Status.choices)
    tool = serializers.CharField(source="tool_name")
    message = serializers.CharField(allow_blank=True)
    schema = serializers.DictField(allow_null=True, help_text="A JSON Schema of type object.")
    url = serializers.CharField(allow_null=True)
    action = serializers.ChoiceField(choices=Question.Action.choices, allow_null=True)
    content = serializers.DictField(allow_null=True, help_text="What was answered.")
    via = serializers.CharField(allow_null=True, help_text="Where it was answered: api, page or mcp.")
    run_id = serializers.UUIDField(allow_null=True, help_text="Null for a call without a chat.")
    conversation_id = serializers.UUIDField(allow_null=True)
    tool_call_id = serializers.UUIDField(source="call_id")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    answered_at = serializers.DateTimeField(allow_null=True)


class AnswerBody(serializers.Serializer[Any]):
    """An answer; `content` goes with `accept` where the question has a schema."""

    action = serializers.ChoiceField(choices=Question.Action.choices)
    content = serializers.DictField(required=False)


class QuestionFilter(FilterSet):
    """`?status=`."""

    status = django_filters.ChoiceFilter(choices=Question.Status.choices)

    class Meta:
        model = Question
        fields: list[str] = []


class _Questions(WithinTenant, generics.GenericAPIView[Question]):
    """The caller's own."""

    scope = "chat"
    schema = ProblemSchema()
    serializer_class = QuestionBody
    lookup_field = "id"
    queryset = Question.objects.none()

    def get_queryset(self) -> QuerySet[Question]:
        """Nobody sees what somebody else is asked."""
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        return Question.objects.filter(user_id=self.principal.user_id)


@extend_schema_view(get=extend_schema(operation_id="list_questions"))
class QuestionListView(_Questions, generics.ListAPIView[Question]):
    """What the caller's calls ask or asked them, newest first."""

    filterset_class = QuestionFilter
    filter_backends = [DjangoFilterBackend]


@extend_schema_view(get=extend_schema(operation_id="get_question"))
class QuestionDetailView(_Questions, generics.RetrieveAPIView[Question]):
    """One question."""


class AnswerView(AsyncView):
    """An answer to a question."""

    @extend_schema(
        operation_id="answer_question",
        request=AnswerBody,
        responses={
            200: QuestionBody,
            **refusals(InvalidRequest, NoSuchQuestion, AlreadyAnswered, QuestionExpired, InvalidAnswer),
        },
    )
    async def post(self, request: Request, id: uuid.UUID) -> Response:
        """Answer one of one's own questions, once; its call goes on when everything that it asked is answered."""
        raw = await sync_to_async(request._request.read)(parsing.MAX_BYTES + 1)
        # Somebody else's is unknown, whatever is sent to it.
        await answering.look(self.tenant_scope, id)
        given = parsing.read(raw)
        for name in given:
            if name not in ("action", "content"):
                shown = arguments.shown(name)
                raise InvalidRequest(f"{shown} is not known here.", shown)
        action = given.get("action")
        if not isinstance(action, str):
            raise InvalidRequest(f"action must be one of {', '.join(answering.ACTIONS)}.", "action")
        answered = await answering.answer(self.tenant_scope, id, action, given.get("content"), via="api")
        return Response(QuestionBody(answered).data)
