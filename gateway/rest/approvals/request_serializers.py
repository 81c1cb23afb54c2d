"""The shapes of approval requests, for the REST API's answers and for the OpenAPI document."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from approvals.models import ApprovalDecision, ApprovalRequest
from approvals.requests import queue
from gateway.models import Message
from gateway.rest.call_serializers import TIERS
from gateway.rest.framework.problem import Problem

VIA = ("api", "page", "socket", "admin")
EDITS = ("add", "remove", "replace")


@extend_schema_serializer(component_name="Person")
class Someone(serializers.Serializer[Any]):
    """A person of the tenant."""

    id = serializers.UUIDField()
    username = serializers.CharField(allow_null=True, help_text="Null once they have left the tenant.")


@extend_schema_serializer(component_name="ContextFile")
class Brought(serializers.Serializer[Any]):
    """A picture or a document beside what was said."""

    name = serializers.CharField(allow_blank=True, help_text="Empty where its client gave none.")
    media_type = serializers.CharField(allow_blank=True)


@extend_schema_serializer(component_name="ContextMessage")
class Said(serializers.Serializer[Any]):
    """A piece of the conversation that led up to the call."""

    role = serializers.ChoiceField(choices=Message.Author.choices)
    text = serializers.CharField(allow_blank=True)
    cut = serializers.IntegerField(help_text="How many characters were left out.")
    by_person = serializers.BooleanField(
        required=False, help_text="False: a run wrote it in the user's place, as the task of the run that asks."
    )
    attached = Brought(many=True, required=False, help_text="Pictures and documents that it brought along, if any.")


@extend_schema_serializer(component_name="ArgumentEdit")
class Edit(serializers.Serializer[Any]):
    """One change of an approver's to the arguments."""

    op = serializers.ChoiceField(choices=EDITS)
    path = serializers.CharField(allow_blank=True, help_text="A JSON pointer; empty: the whole.")
    before = serializers.JSONField(required=False, help_text="Unless it was added.")
    after = serializers.JSONField(required=False, help_text="Unless it was removed.")


@extend_schema_serializer(component_name="ApprovalDecision")
class Decision(serializers.Serializer[Any]):
    """What one approver decided."""

    id = serializers.UUIDField()
    user = Someone()
    verdict = serializers.ChoiceField(choices=ApprovalDecision.Verdict.choices)
    reason = serializers.CharField(allow_blank=True)
    via = serializers.ChoiceField(choices=VIA)
    edit = Edit(many=True, allow_null=True, help_text="What they changed in the arguments.")
    counts = serializers.BooleanField(
        help_text="False for an approval that a later edit made void, or whose author may not decide any more."
    )
    created_at = serializers.DateTimeField()


class Approval(serializers.Serializer[Any]):
    """An approval request: an Elevated call that waits, or waited, for a human."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=ApprovalRequest.Status.choices)
    tool = serializers.CharField()
    tier = serializers.ChoiceField(choices=TIERS)
    why = serializers.CharField(help_text="Why a human has to decide.")
    input = serializers.JSONField(allow_null=True, help_text="The arguments as the model sent them.")
    approved_input = serializers.JSONField(allow_null=True, help_text="The arguments as an approver edited them.")
    params_hash = serializers.CharField(
        allow_null=True, help_text="Of the arguments as they are now: what a decision says it has `seen`."
    )
    user = Someone()
    agent = serializers.CharField(allow_blank=True)
    run_id = serializers.UUIDField(allow_null=True, help_text="Null for a call without a chat.")
    conversation_id = serializers.UUIDField(allow_null=True)
    tool_call_id = serializers.UUIDField()
    context = Said(many=True)  # type: ignore[assignment]
    approvals_needed = serializers.IntegerField()
    approvals = serializers.IntegerField(help_text="How many approvals count so far.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)
    used_at = serializers.DateTimeField(allow_null=True, help_text="When the run went on.")
    decisions = Decision(many=True)
    mine = serializers.BooleanField()
    decidable = serializers.BooleanField(help_text="Whether the caller may approve or deny it.")

    def to_representation(self, instance: ApprovalRequest) -> dict[str, Any]:
        """A row of `queue.visible` as the caller is shown it."""
        return queue.body(instance, self.context["request"].user)


class ConflictProblem(Problem):
    """Why a request could not be decided so, with the request as it is now."""

    approval = Approval()


SEEN = "The params_hash of the arguments that the approver was shown. "


class Approve(serializers.Serializer[Any]):
    """An approval; with `arguments`, of these instead."""

    seen = serializers.CharField(required=False, help_text=f"{SEEN}Without it: those that the model sent.")
    reason = serializers.CharField(required=False, allow_blank=True, max_length=2000)
    arguments = serializers.DictField(required=False, help_text="What is to run instead of what the model sent.")


class Deny(serializers.Serializer[Any]):
    """A denial."""

    seen = serializers.CharField(required=False, help_text=f"{SEEN}Without it: whatever they are.")
    reason = serializers.CharField(required=False, allow_blank=True, max_length=2000, help_text="The model is told it.")
