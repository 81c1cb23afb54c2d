"""The shapes of agents and their versions, for the OpenAPI document; `gateway.runs.agents` checks and makes them."""

from typing import Any

from rest_framework import serializers

from gateway.rest.approvals.request_serializers import Someone
from gateway.rest.call_serializers import TIERS
from gateway.rest.chat.run_serializers import ChatRequest
from gateway.runs.agents.fields import CHOICES, MAX_INSTRUCTIONS, MAX_NAME, NUMBERS

_TOOLS = '"all", or a list of names, "service.*" for a service\'s, and "..." for the tenant\'s default tools.'


def _number(name: str, **more: Any) -> serializers.IntegerField:
    least, most = NUMBERS[name]
    return serializers.IntegerField(min_value=least, max_value=most, **more)


class AgentFields(serializers.Serializer[Any]):
    """What is said of an agent."""

    name = serializers.CharField(max_length=MAX_NAME)
    instructions = serializers.CharField(max_length=MAX_INSTRUCTIONS, allow_blank=True)
    model = serializers.CharField(max_length=200, allow_null=True, help_text="provider/model; null: the default model.")
    tools = serializers.JSONField(help_text=_TOOLS)
    is_default = serializers.BooleanField(help_text="Whether it answers whoever names no agent; one of them does.")
    max_tier = serializers.ChoiceField(
        choices=TIERS, allow_null=True, help_text="The highest tier of tools that it may use; null: any."
    )
    on_refused_approval = serializers.ChoiceField(
        choices=CHOICES["on_refused_approval"],
        help_text="After a denied or expired approval: tell the model, or end the run (halt).",
    )
    on_disconnect = serializers.ChoiceField(
        choices=CHOICES["on_disconnect"], help_text="When a client of /v1 hangs up: go on with the run, or cancel it."
    )
    max_turns = _number("max_turns")
    max_seconds = _number("max_seconds", help_text="That a run may take, without waiting for humans.")
    max_run_tokens = _number(
        "max_run_tokens",
        allow_null=True,
        help_text="That a run and all that it begins may use, in and out; null: no limit.",
    )
    max_run_usd = serializers.CharField(
        allow_null=True,
        help_text="US dollars that a run and all that it begins may cost, a decimal string; null: no limit. Taken as a "
        "number, too.",
    )
    tool_seconds = _number("tool_seconds", help_text="That one call may take; a tool's own limit may be shorter.")
    max_result_bytes = _number("max_result_bytes", help_text="Of a tool's answer that its model is shown.")
    max_offered_tools = _number(
        "max_offered_tools",
        allow_null=True,
        help_text="With more tools than this, its model finds them with tools_search; null: the operator's number.",
    )
    pinned_tools = serializers.ListField(
        child=serializers.CharField(), help_text='What its model is shown of them all the same: names, "service.*".'
    )


class Agent(AgentFields):
    """An agent. `version` is in the header ETag, too."""

    slug = serializers.CharField()
    version = serializers.IntegerField(help_text="Each change raises it.")
    archived = serializers.BooleanField(help_text="Nothing begins with it any more.")
    created_at = serializers.DateTimeField()


class AgentRequest(AgentFields):
    """A new agent; only its slug has to be given."""

    slug = serializers.CharField(max_length=50)

    def get_fields(self) -> Any:
        """None of the others has to be."""
        return _optional(super().get_fields(), but="slug")


class AgentChange(AgentFields):
    """What changes of an agent. With a `version`, or If-Match, only if it is still that of the agent."""

    archived = serializers.BooleanField(help_text="False takes an archived agent back.")
    version = serializers.IntegerField(help_text="What the change is based on.")

    def get_fields(self) -> Any:
        """What is left out stays as it is."""
        return _optional(super().get_fields())


def _optional(fields: Any, but: str = "") -> Any:
    for name, field in fields.items():
        field.required = name == but
    return fields


class AgentDraft(AgentFields):
    """Fields of an agent that are tried."""

    def get_fields(self) -> Any:
        """What is left out is as it is saved."""
        return _optional(super().get_fields())


class AgentTestRequest(ChatRequest):
    """A chat with an agent, and what is to be different of it."""

    draft = AgentDraft(required=False)

    def get_fields(self) -> Any:
        """The address names the agent."""
        found = super().get_fields()
        found.pop("agent")
        return found


class RestoreRequest(serializers.Serializer[Any]):
    """What a version is taken back over."""

    version = serializers.IntegerField(required=False, help_text="The agent's present version, as for a change.")


class AgentVersion(serializers.Serializer[Any]):
    """An agent as somebody left it."""

    version = serializers.IntegerField()
    by = Someone(allow_null=True, help_text="Null: a command, or Toolgate itself.")
    via = serializers.CharField(help_text="page, api, admin, command or toolgate.")
    restored = serializers.IntegerField(allow_null=True, help_text="The version that was taken back.")
    created_at = serializers.DateTimeField()
    changes = serializers.DictField(
        child=serializers.ListField(min_length=2, max_length=2), help_text="By field: [before, after]."
    )
    values = serializers.DictField(help_text="All fields of the agent as of this version.")
