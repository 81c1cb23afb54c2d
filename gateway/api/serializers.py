"""The shapes of the REST API, for its answers and for the OpenAPI document."""

from typing import Any

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers

from audit.models import ToolCall
from gateway.models import Conversation, Message, Run


class ChatRequest(serializers.Serializer[Any]):
    """`POST /api/v1/chat`."""

    content = serializers.CharField(help_text="What the user says; up to 1 MiB.")
    conversation_id = serializers.UUIDField(required=False, help_text="Go on with this conversation.")
    agent = serializers.CharField(required=False, help_text="An agent's slug; default: the tenant's default agent.")
    model = serializers.CharField(required=False, help_text="provider/model; default: the agent's.")
    stream = serializers.BooleanField(required=False, help_text="Answer with server-sent events.")
    wait = serializers.FloatField(required=False, min_value=0, help_text="Seconds to wait for a human's decision.")


class StreamToken(serializers.Serializer[Any]):
    """What opens one run's events without a key."""

    token = serializers.CharField(help_text="For `?token=` of this run's events, and for nothing else.")
    expires_at = serializers.DateTimeField(help_text="A stream that is open by then goes on.")


class CallError(serializers.Serializer[Any]):
    """Why a call failed or was refused."""

    code = serializers.CharField()
    message = serializers.CharField()
    field = serializers.CharField(required=False)


class Call(serializers.Serializer[Any]):
    """A tool call within a run."""

    id = serializers.UUIDField()
    tool = serializers.CharField()
    input = serializers.JSONField(allow_null=True)
    status = serializers.CharField()
    output = serializers.JSONField(allow_null=True)
    display = serializers.CharField(allow_blank=True)
    error = CallError(allow_null=True)
    execution_time_ms = serializers.IntegerField(allow_null=True)
    turn = serializers.IntegerField()
    approval_id = serializers.UUIDField(allow_null=True)


# Not a class, because a serializer's own `data` is something else.
StreamEvent = inline_serializer(
    "StreamEvent",
    {
        "id": serializers.CharField(help_text="A position in the run, for Last-Event-ID."),
        "event": serializers.CharField(help_text="run.created, message.delta, tool_call.settled, run.completed, …"),
        "data": serializers.CharField(help_text="A JSON object as text; its run_id is always there."),
    },
)


class Usage(serializers.Serializer[Any]):
    """Tokens and turns, summed over the run."""

    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    turns = serializers.IntegerField()


class RunBody(serializers.Serializer[Any]):
    """A run, at any time."""

    id = serializers.UUIDField(help_text="The assistant's message.")
    conversation_id = serializers.UUIDField()
    run_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=Run.Status.choices)
    error = CallError(allow_null=True)
    incomplete_reason = serializers.CharField(allow_null=True)
    content = serializers.CharField(allow_blank=True)
    model = serializers.CharField()
    tool_calls = Call(many=True)
    usage = Usage()
    required_action = serializers.JSONField(allow_null=True)


class Problem(serializers.Serializer[Any]):
    """RFC 9457 problem+json."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField()
    field = serializers.CharField(required=False)
    run_id = serializers.UUIDField(required=False)


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


class ToolCallSerializer(serializers.ModelSerializer[ToolCall]):
    """A tool call as the history shows it; in lists, an output beyond 16,384 bytes is left to the detail."""

    tool = serializers.CharField(source="tool_name")
    username = serializers.CharField(allow_null=True, help_text="Null once they have left the tenant.")
    error = serializers.SerializerMethodField()
    approval_id = serializers.SerializerMethodField()

    class Meta:
        model = ToolCall
        fields = [
            "id", "tool", "tier", "input", "input_raw", "status", "output", "output_bytes", "display", "error",
            "execution_time_ms", "turn", "position", "approval_id", "user_id", "username", "conversation_id",
            "message_id", "run_id", "attempt", "side_effects", "decision", "params_hash", "output_hash", "created_at",
            "started_at", "finished_at",
        ]  # fmt: skip

    def get_error(self, call: ToolCall) -> dict[str, str] | None:
        """{"code", "message", "field"?} or null."""
        if not call.error_code:
            return None
        field = {"field": call.error_field} if call.error_field else {}
        return {"code": call.error_code, "message": call.error_message or "", **field}

    def get_approval_id(self, call: ToolCall) -> str | None:
        """The approval request that the call waited for, if any."""
        return None
