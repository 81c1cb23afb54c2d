"""The shapes of conversations and messages, for the REST API's answers and for the OpenAPI document."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from gateway.models import Conversation, Kind, Message


class ConversationSerializer(serializers.ModelSerializer[Conversation]):
    """One of the user's conversations."""

    title = serializers.CharField(max_length=200, required=False, allow_blank=True)
    kind = serializers.ChoiceField(
        choices=Kind.choices,
        read_only=True,
        help_text="main, a branch of another one, or a worker's: a run's began it.",
    )
    parent_id = serializers.UUIDField(read_only=True, allow_null=True, help_text="The one that it comes from.")
    labels = serializers.ListField(child=serializers.CharField(max_length=50), max_length=10, required=False)

    class Meta:
        model = Conversation
        fields = ["id", "title", "kind", "parent_id", "labels", "created_at", "updated_at"]
        read_only_fields = ["id", "created_at", "updated_at"]


class BranchSerializer(serializers.Serializer[Any]):
    """Where a branch goes on from."""

    run_id = serializers.UUIDField(required=False, help_text="A run of it that is over; without it, the last one.")
    title = serializers.CharField(max_length=200, required=False, allow_blank=True)


@extend_schema_serializer(component_name="AttachedFile")
class AttachedFileSerializer(serializers.Serializer[Any]):
    """A version of a file that was attached to a message; the file may have been deleted since."""

    file_id = serializers.UUIDField()
    path = serializers.CharField()
    version = serializers.IntegerField()
    media_type = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")
    sha256 = serializers.CharField(help_text="Of its bytes, in hexadecimal.")


@extend_schema_serializer(component_name="SentFile")
class SentFileSerializer(AttachedFileSerializer):
    """A version of a file that went along with a message; the file may have been deleted since."""

    conversation_id = serializers.UUIDField()


class MessageSerializer(serializers.ModelSerializer[Message]):
    """What the user said, or a run's final answer."""

    attachments = AttachedFileSerializer(many=True, read_only=True)

    class Meta:
        model = Message
        fields = ["id", "role", "content", "attachments", "run_id", "created_at"]
