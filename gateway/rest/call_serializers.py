"""The shapes of tool calls: in a run, in its trace, and in the history."""

from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from audit.models import ErrorCode, Origin, Status, ToolCall
from gateway.rest.framework.fields import Recorded
from tools.gates import order
from tools.interface import Tier

GATES = tuple(order.names())
TIERS = [(tier.value, tier.name) for tier in Tier]


@extend_schema_serializer(component_name="ToolCallError")
class CallError(serializers.Serializer[Any]):
    """Why a call failed or was refused."""

    code = serializers.ChoiceField(choices=ErrorCode.choices)
    message = serializers.CharField(allow_blank=True)
    field = serializers.CharField(required=False, help_text="The argument at fault.")


@extend_schema_serializer(component_name="ToolCall")
class Call(serializers.Serializer[Any]):
    """A tool call within a run."""

    id = serializers.UUIDField()
    tool = serializers.CharField()
    input = serializers.JSONField(
        allow_null=True, help_text="The arguments: an object; null when they were not valid JSON."
    )
    status = serializers.ChoiceField(choices=Status.choices)
    output = serializers.JSONField(allow_null=True, help_text="What the tool answered; null until it has succeeded.")
    display = serializers.CharField(allow_blank=True, help_text="The output in a few words, for people.")
    error = CallError(allow_null=True)
    execution_time_ms = serializers.IntegerField(allow_null=True)
    turn = serializers.IntegerField(help_text="The turn of the run that made the call, from 1.")
    approval_id = serializers.UUIDField(allow_null=True, help_text="The approval request that it waited for.")


class CallRequest(serializers.Serializer[Any]):
    """The arguments of a call without a chat, and how long to wait for it."""

    arguments = serializers.DictField(help_text="As the tool's schema asks for them.")
    wait = serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=24 * 3600,
        help_text="Seconds to wait for the call to be final. Without it: 30 while it runs, none for a human.",
    )


@extend_schema_serializer(component_name="ToolCallWithoutChat")
class CallWithoutChat(Call):
    """A tool call without a chat."""

    turn = serializers.IntegerField(allow_null=True, help_text="Null: there is no run.")
    origin = serializers.ChoiceField(choices=Origin.choices, help_text="How the call came in.")


class GateAnswer(Recorded):
    """What one gate said of a call: yes, or no with a code and words."""

    gate = serializers.ChoiceField(choices=GATES)
    ok = serializers.BooleanField()
    code = serializers.ChoiceField(choices=ErrorCode.choices, required=False, help_text="Of a refusal.")
    model = serializers.CharField(required=False, help_text="What the model is told of a refusal.")
    user = serializers.CharField(required=False, help_text="What the user is told of a refusal.")
    holds = serializers.BooleanField(required=False, help_text="True: yes, once a human has approved.")
    rule = serializers.CharField(required=False, help_text="The id of the rule or condition that the answer follows.")
    log = serializers.CharField(required=False, help_text="Why, for whoever reads the record.")
    field = serializers.CharField(required=False, help_text="The argument at fault.")
    facts = serializers.DictField(required=False, help_text="What it went by besides the arguments.")


@extend_schema_serializer(component_name="ModelError")
class ModelError(CallError):
    """What the model is told of a call that failed."""

    schema = serializers.DictField(required=False, help_text="The part of the tool's schema that was violated.")


class ModelResult(serializers.Serializer[Any]):
    """What the model is given back of a call: `data`, or `error` when it failed."""

    ok = serializers.BooleanField()
    data = serializers.JSONField(required=False, help_text="The output, cut where it was too long.")  # type: ignore[assignment]
    ran_with = serializers.JSONField(required=False, help_text="The arguments that an approver had put in place.")
    truncated = serializers.BooleanField(required=False, help_text="True where it was cut.")
    original_bytes = serializers.IntegerField(required=False, help_text="The size of the whole, where it was cut.")
    error = ModelError(required=False)


@extend_schema_serializer(component_name="TraceToolCall")
class TraceCall(Call):
    """A tool call as the trace of its run shows it."""

    arguments = serializers.JSONField(
        allow_null=True, help_text="What the model sent; as text when it was not valid JSON."
    )
    result = ModelResult(allow_null=True, help_text="What the model was given back; null until the call is final.")
    latency_ms = serializers.IntegerField(allow_null=True)
    attempt = serializers.IntegerField()
    decision = GateAnswer(many=True, help_text="Each gate's answer, in order.")
    approved_input = serializers.JSONField(allow_null=True, help_text="What ran, where an approver had edited it.")
    resumed_decision = GateAnswer(
        many=True, allow_null=True, help_text="Each gate's answer when it went on after an approval."
    )


class SideEffect(Recorded):
    """One thing that a call made or changed."""

    kind = serializers.CharField()
    id = serializers.CharField()
    action = serializers.CharField()


@extend_schema_serializer(component_name="ToolCallRecord")
class ToolCallSerializer(serializers.ModelSerializer[ToolCall]):
    """A tool call as the history shows it; in lists, an output beyond 16,384 bytes is left to the detail."""

    tool = serializers.CharField(source="tool_name")
    tier = serializers.ChoiceField(choices=TIERS, allow_null=True, help_text="Null when no such tool exists.")
    input = serializers.JSONField(allow_null=True, help_text="The arguments; null when they were not valid JSON.")
    output = serializers.JSONField(allow_null=True)
    username = serializers.CharField(allow_null=True, help_text="Null once they have left the tenant.")
    error = serializers.SerializerMethodField()
    side_effects = SideEffect(many=True)
    decision = GateAnswer(many=True, help_text="Each gate's answer, in order.")

    class Meta:
        model = ToolCall
        fields = [
            "id", "tool", "tier", "input", "input_raw", "status", "output", "output_bytes", "display", "error",
            "execution_time_ms", "origin", "turn", "position", "approval_id", "user_id", "username", "conversation_id",
            "message_id", "run_id", "attempt", "side_effects", "decision", "params_hash", "output_hash", "created_at",
            "started_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(CallError(allow_null=True))
    def get_error(self, call: ToolCall) -> dict[str, str] | None:
        """{"code", "message", "field"?} or null."""
        if not call.error_code:
            return None
        field = {"field": call.error_field} if call.error_field else {}
        return {"code": call.error_code, "message": call.error_message or "", **field}
