"""Erasing over REST: `/api/v1/erasures/`."""

from typing import Any

from asgiref.sync import async_to_sync
from django.db.models import QuerySet
from drf_spectacular.utils import (
    extend_schema,
    extend_schema_field,
    extend_schema_serializer,
    extend_schema_view,
)
from rest_framework import generics, serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from audit.history import access_log
from audit.models import Erasure
from gateway.rest.approvals.request_serializers import Someone
from gateway.rest.framework.schema import ProblemSchema, refusals
from gateway.runs.conversations import erasure
from gateway.runs.conversations.erasure import MAX_REASON
from gateway.runs.errors import NoSuchSubject, NotAnEraser, StillOpen
from tenants.login.views import WithinTenant

SUBJECTS = ("call", "conversation", "user")


@extend_schema_serializer(component_name="Erasure")
class Erase(serializers.Serializer[Any]):
    """What is to be erased: exactly one of the three."""

    call = serializers.UUIDField(required=False)
    conversation = serializers.UUIDField(required=False)
    user = serializers.UUIDField(required=False)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=MAX_REASON, default="")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """As `scope`, `subject_id` and `reason`."""
        named = [name for name in SUBJECTS if name in attrs]
        if len(named) != 1:
            raise serializers.ValidationError("Name one of call, conversation and user.")
        return {"scope": named[0], "subject_id": attrs[named[0]], "reason": attrs["reason"]}


@extend_schema_serializer(component_name="ErasureResult")
class Erased(serializers.Serializer[Any]):
    """What an erasure did."""

    scope = serializers.ChoiceField(choices=SUBJECTS)
    subject_id = serializers.UUIDField()
    reason = serializers.CharField(allow_blank=True)
    calls = serializers.IntegerField(help_text="Calls whose payload has gone now.")
    conversations = serializers.IntegerField(help_text="Conversations that have gone now.")
    stored = serializers.IntegerField(help_text="Notes and tasks that have gone now.")
    erasures = serializers.ListField(child=serializers.UUIDField(), source="ids", help_text="The rows on record.")


class ErasureSerializer(serializers.ModelSerializer[Erasure]):
    """An erasure on record; `low` and `high` bound the ids of a month that went as a whole."""

    actor = serializers.SerializerMethodField()

    class Meta:
        model = Erasure
        fields = ["id", "scope", "subject_id", "low", "high", "actor", "reason", "calls", "created_at"]

    @extend_schema_field(Someone(allow_null=True))
    def get_actor(self, row: Erasure) -> dict[str, Any] | None:
        """{"id", "username"}, the name null for who has left; null for retention and commands."""
        if row.actor_id is None:
            return None
        return {"id": str(row.actor_id), "username": access_log.names({row.actor_id}).get(row.actor_id)}


@extend_schema_view(get=extend_schema(operation_id="list_erasures"))
class ErasureListView(WithinTenant, generics.ListAPIView[Erasure]):
    """What was erased, for auditors and owners; and a new erasure."""

    schema = ProblemSchema()
    serializer_class = ErasureSerializer
    queryset = Erasure.objects.none()
    filter_backends: list[Any] = []

    @property
    def scope(self) -> str:  # type: ignore[override]
        """Whoever may delete a conversation of theirs may erase it; what is others' wants the scope admin too."""
        return "chat" if self.request.method == "POST" else "history:read"

    def get_queryset(self) -> QuerySet[Erasure]:
        """The tenant's."""
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        if not self.principal.sees_whole_history:
            raise PermissionDenied("The erasures of a tenant are for its auditors and owners to read.")
        return access_log.erasures(self.principal, access_log.Filters())

    @extend_schema(
        operation_id="create_erasure",
        request=Erase,
        responses={201: Erased, 200: Erased, **refusals(NoSuchSubject, NotAnEraser, StillOpen)},
    )
    def post(self, request: Request) -> Response:
        """Erase the payloads of a call, a conversation or a user; 200 when there was nothing left to erase."""
        wanted = Erase(data=request.data)
        wanted.is_valid(raise_exception=True)
        done = async_to_sync(erasure.ask)(self.principal, **wanted.validated_data)
        return Response(Erased(done).data, 201 if done.ids else 200)
