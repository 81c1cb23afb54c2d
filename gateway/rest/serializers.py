"""The shapes of problems, conversations and messages, for the REST API's answers and for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from gateway.models import Conversation, Message
from gateway.rest.framework.fields import ProblemCode


class Problem(serializers.Serializer[Any]):
    """RFC 9457 problem+json."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = ProblemCode(help_text="What is wrong, for programs.")
    detail = serializers.CharField(help_text="What is wrong, for people.")
    field = serializers.CharField(required=False, help_text="The field at fault.")
    errors = serializers.JSONField(  # type: ignore[assignment]
        required=False, help_text="Where several fields are at fault: what is wrong with each."
    )
    run_id = serializers.UUIDField(required=False, help_text="The run that failed.")


class ConversationSerializer(serializers.ModelSerializer[Conversation]):
    """One of the user's conversations."""

    title = serializers.CharField(max_length=200, required=False, allow_blank=True)

    class Meta:
        model = Conversation
        fields = ["id", "title", "created_at", "updated_at"]
        read_only_fields = ["id", "created_at", "updated_at"]


class MessageSerializer(serializers.ModelSerializer[Message]):
    """What the user said, or a run's final answer."""

    class Meta:
        model = Message
        fields = ["id", "role", "content", "run_id", "created_at"]
