"""The shapes of chats and runs, of a run's trace, its replay and its stream token."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from audit.models import ErrorCode
from gateway.models import Kind, Run
from gateway.rest.call_serializers import Call, TraceCall

# `queued` is part of the published API, so clients know it; no run is in that state, since each begins in progress.
# One that waits for its children is in progress, or requires_action where a human is waited for below it.
RUN_STATUSES = ("queued", *(status for status in Run.Status.values if status != Run.Status.WAITING))
INCOMPLETE_REASONS = ("max_turns", "time", "tokens")
# Why a run fails; one that was cancelled for a refused call has the call's code.
ERROR_CODES = (
    *("provider_error", "invalid_request", "unknown_model", "model_not_allowed", "mixed_tool_calls", "internal_error"),
    *("budget_exhausted", "model_unpriced", "run_tokens_spent", "run_usd_spent"),
    *ErrorCode.values,
)
REPLAY_EVENTS = ("Turn", "ToolCall", "ToolResult")
OUTCOMES = ("success", "error")
ACTION_TYPES = ("approval", "input")
FINISH_REASONS = ("stop", "tool_calls", "length", "content_filter", "cut_off")


class Attachment(serializers.Serializer[Any]):
    """A file of the conversation that the model is shown with the message: a picture or a PDF."""

    file = serializers.CharField(help_text="Its path.")
    version = serializers.IntegerField(required=False, min_value=1, help_text="The newest without it.")


class ChatRequest(serializers.Serializer[Any]):
    """`POST /api/v1/chat`."""

    content = serializers.CharField(help_text="What the user says; up to 1 MiB.")
    conversation_id = serializers.UUIDField(required=False, help_text="Go on with this conversation.")
    agent = serializers.CharField(required=False, help_text="An agent's slug; default: the tenant's default agent.")
    model = serializers.CharField(required=False, help_text="provider/model; default: the agent's.")
    attachments = Attachment(many=True, required=False, help_text="Files of that conversation, up to 10.")
    stream = serializers.BooleanField(required=False, help_text="Answer with server-sent events.")
    wait = serializers.FloatField(
        required=False, min_value=0, max_value=86_400, help_text="Seconds to wait for a human's decision."
    )


class RunError(serializers.Serializer[Any]):
    """Why a run failed or was cancelled."""

    code = serializers.ChoiceField(choices=ERROR_CODES)
    message = serializers.CharField(allow_blank=True)


class TokenUsage(serializers.Serializer[Any]):
    """The tokens of one turn."""

    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()


class Usage(TokenUsage):
    """Tokens and turns, summed over the run."""

    turns = serializers.IntegerField()
    max_run_tokens = serializers.IntegerField(
        required=False, help_text="That it and all that it begins may use; absent: no limit."
    )
    max_run_usd = serializers.CharField(
        required=False, help_text="US dollars that it and all that it begins may cost, exact; absent: no limit."
    )


class UsageInTree(Usage):
    """What a run of a tree has used."""

    run_tokens = serializers.IntegerField(
        required=False, help_text="What counts against that: used, estimated, or given to runs below that are open."
    )
    run_usd = serializers.CharField(required=False, help_text="The same of max_run_usd, in US dollars, exact.")


class PendingApproval(serializers.Serializer[Any]):
    """A call that waits for a human."""

    id = serializers.UUIDField(help_text="The approval request.")
    tool = serializers.CharField()
    input = serializers.JSONField(allow_null=True, help_text="The arguments: an object.")
    expires_at = serializers.DateTimeField()
    run_id = serializers.UUIDField(required=False, help_text="The descendant that asked; absent of the run's own.")
    path = serializers.ListField(
        child=serializers.UUIDField(), required=False, help_text="The runs from the run's child down to that one."
    )


@extend_schema_serializer(component_name="PendingQuestion")
class PendingQuestion(serializers.Serializer[Any]):
    """What a call asks its user: an answer that fits `schema`, or that they visit the page `url`."""

    id = serializers.UUIDField()
    tool = serializers.CharField()
    message = serializers.CharField()
    schema = serializers.DictField(required=False, help_text="A JSON Schema of type object.")
    url = serializers.CharField(required=False)
    expires_at = serializers.DateTimeField()


class RequiredAction(serializers.Serializer[Any]):
    """What people must do for the run to go on: decide about approvals, or, where nothing else waits, answer."""

    type = serializers.ChoiceField(choices=ACTION_TYPES)
    approvals = PendingApproval(many=True, help_text="Empty where only the run's own user is asked.")
    questions = PendingQuestion(many=True, required=False, help_text="What the run's own user is asked.")


@extend_schema_serializer(component_name="Run")
class RunBody(serializers.Serializer[Any]):
    """A run, at any time."""

    id = serializers.UUIDField(help_text="The assistant's message.")
    conversation_id = serializers.UUIDField()
    run_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=RUN_STATUSES)
    error = RunError(allow_null=True)
    incomplete_reason = serializers.ChoiceField(choices=INCOMPLETE_REASONS, allow_null=True)
    content = serializers.CharField(allow_blank=True, help_text="The text of the last turn.")
    model = serializers.CharField(help_text="The one that answered last; see the trace for every turn's.")
    tool_calls = Call(many=True, help_text="In the order in which the model made them.")
    usage = Usage()
    required_action = RequiredAction(allow_null=True, help_text="Null unless status is requires_action.")


class RunTree(serializers.Serializer[Any]):
    """A run in its tree."""

    run_id = serializers.UUIDField()
    parent_run_id = serializers.UUIDField(allow_null=True, help_text="The run that began it.")
    parent_call_id = serializers.UUIDField(allow_null=True, help_text="The call that waits for it.")
    kind = serializers.ChoiceField(choices=Kind.choices)
    depth = serializers.IntegerField(help_text="0 for a run that no other one began.")
    agent = serializers.CharField(allow_blank=True)
    model = serializers.CharField()
    conversation_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=RUN_STATUSES)
    incomplete_reason = serializers.ChoiceField(choices=INCOMPLETE_REASONS, allow_null=True)
    error = RunError(allow_null=True)
    usage = UsageInTree()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    children = serializers.ListField(child=serializers.DictField(), help_text="Runs of the same form.")


class FailedModel(serializers.Serializer[Any]):
    """A model that was asked for a turn, and failed."""

    model = serializers.CharField()
    message = serializers.CharField(allow_blank=True)


class TraceTurn(serializers.Serializer[Any]):
    """One turn of a run: one answer of the model, and its calls."""

    turn = serializers.IntegerField(help_text="From 1.")
    text = serializers.CharField(allow_blank=True)
    finish_reason = serializers.ChoiceField(choices=FINISH_REASONS)
    latency_ms = serializers.IntegerField()
    model = serializers.CharField(help_text="The one that answered.")
    failed = FailedModel(many=True, help_text="Those that were asked before it, in order.")
    usage = TokenUsage()
    tool_calls = TraceCall(many=True)


class Trace(serializers.Serializer[Any]):
    """What happened in a run, turn by turn."""

    run_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=RUN_STATUSES)
    model = serializers.CharField()
    usage = Usage()
    error = RunError(allow_null=True)
    tool_trace = TraceTurn(many=True)


class StreamToken(serializers.Serializer[Any]):
    """What opens one run's events without a key."""

    token = serializers.CharField(help_text="For `?token=` of this run's events, and for nothing else.")
    expires_at = serializers.DateTimeField(help_text="A stream that is open by then goes on.")


class ReplayEvent(serializers.Serializer[Any]):
    """One line of a replay. `Turn` has text, finish_reason and tokens; the events of a tool have the other fields."""

    event = serializers.ChoiceField(choices=REPLAY_EVENTS)
    run_id = serializers.UUIDField()
    turn = serializers.IntegerField()
    latency_ms = serializers.IntegerField(allow_null=True, help_text="Null for a call that did not run.")
    call_id = serializers.UUIDField(required=False)
    tool = serializers.CharField(required=False)
    params_hash = serializers.CharField(required=False, allow_null=True)
    output_hash = serializers.CharField(required=False, allow_null=True)
    side_effects = serializers.ListField(child=serializers.DictField(), required=False)
    erased = serializers.BooleanField(required=False, help_text="Its arguments, output and hashes were erased.")
    params = serializers.JSONField(required=False, allow_null=True, help_text="ToolCall: as the model sent them.")
    params_raw = serializers.CharField(
        required=False, allow_null=True, help_text="ToolCall: the text of arguments that are no JSON."
    )
    approved_params = serializers.JSONField(
        required=False, allow_null=True, help_text="ToolCall: what ran instead, as an approver edited it."
    )
    approved_params_hash = serializers.CharField(required=False, allow_null=True)
    tier = serializers.CharField(required=False, allow_null=True)
    decision = serializers.ListField(
        child=serializers.DictField(), required=False, help_text="ToolCall: what each gate said."
    )
    status = serializers.ChoiceField(choices=OUTCOMES, required=False, help_text="ToolResult.")
    output = serializers.JSONField(required=False, allow_null=True, help_text="ToolResult.")
    error = serializers.DictField(
        required=False, allow_null=True, help_text="ToolResult: {code, message, field} of a call that failed."
    )
    text = serializers.CharField(required=False, allow_blank=True, help_text="Turn: what the model said.")
    finish_reason = serializers.CharField(required=False, help_text="Turn.")
    input_tokens = serializers.IntegerField(required=False)
    output_tokens = serializers.IntegerField(required=False)
    created_at = serializers.DateTimeField(required=False, help_text="Turn and ToolCall.")
    started_at = serializers.DateTimeField(required=False, allow_null=True, help_text="ToolResult.")
    finished_at = serializers.DateTimeField(required=False, help_text="ToolResult.")
