"""The shapes of a run's server-sent events: one component an event, and `StreamEvent` for any of them.

On the wire an event is text: `id`, `event`, and `data` as one line of JSON. The components have its `data` read.
"""

import re
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_serializer, inline_serializer
from rest_framework import serializers

from gateway.rest.call_serializers import Call
from gateway.rest.chat.run_serializers import RUN_STATUSES, PendingQuestion, RunBody
from gateway.rest.framework.fields import Constant


class RunCreated(serializers.Serializer[Any]):
    """The beginning of a run."""

    run_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField()
    message_id = serializers.UUIDField(help_text="The assistant's message.")
    model = serializers.CharField()
    status = serializers.ChoiceField(choices=RUN_STATUSES)


class MessageDelta(serializers.Serializer[Any]):
    """The next piece of a turn's text."""

    run_id = serializers.UUIDField()
    text = serializers.CharField(trim_whitespace=False)
    turn = serializers.IntegerField()


class MessageRestarted(serializers.Serializer[Any]):
    """The turn's text so far is void: the model is asked again."""

    run_id = serializers.UUIDField()
    turn = serializers.IntegerField()


@extend_schema_serializer(component_name="ToolCallData")
class CallEvent(Call):
    """A tool call as it is now, and whose it is."""

    run_id = serializers.UUIDField()


@extend_schema_serializer(component_name="AskingToolCallData")
class InputRequiredEvent(CallEvent):
    """A tool call that waits for its user, and what it asks them."""

    questions = PendingQuestion(many=True)


@extend_schema_serializer(component_name="ToolCallProgress")
class ProgressEvent(serializers.Serializer[Any]):
    """How far a running call is, as its tool says; never repeated, and without a place in the stream."""

    run_id = serializers.UUIDField()
    id = serializers.UUIDField(help_text="The tool call.")
    progress = serializers.FloatField()
    total = serializers.FloatField(allow_null=True)
    message = serializers.CharField(allow_null=True)


# The data of each event, by its name.
EVENTS: dict[str, type[serializers.Serializer[Any]]] = {
    "run.created": RunCreated,
    "message.delta": MessageDelta,
    "message.restarted": MessageRestarted,
    "tool_call.proposed": CallEvent,
    "tool_call.awaiting_approval": CallEvent,
    "tool_call.running": CallEvent,
    "tool_call.input_required": InputRequiredEvent,
    "tool_call.progress": ProgressEvent,
    "tool_call.settled": CallEvent,
    "run.requires_action": RunBody,
    "run.completed": RunBody,
    "run.incomplete": RunBody,
    "run.failed": RunBody,
    "run.cancelled": RunBody,
}


def component(event: str) -> str:
    """The name of an event's component: RunCreatedEvent of run.created."""
    return "".join(part.capitalize() for part in re.split(r"[._]", event)) + "Event"


def _serializer(event: str) -> serializers.Serializer[Any]:
    # Not a class, because a serializer's own `data` is something else.
    fields = {
        "id": serializers.CharField(help_text="A position in the run, for Last-Event-ID."),
        "event": Constant(event),
        "data": EVENTS[event](),
    }
    made: serializers.Serializer[Any] = inline_serializer(component(event), fields)
    return made


StreamEvent = PolymorphicProxySerializer(
    component_name="StreamEvent",
    serializers={event: _serializer(event) for event in EVENTS},
    resource_type_field_name="event",
)
