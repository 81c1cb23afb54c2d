"""The shapes of approval rules, for the REST API's answers and for the OpenAPI document."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from approvals.models import ApprovalRule
from approvals.rules import rulebook
from approvals.rules.changes import MAX_NAME, MAX_USES, NewRule
from audit.models import Status
from gateway.rest.approvals.request_serializers import Someone
from tenants.models import Role

_USES: dict[str, Any] = {"required": False, "allow_null": True, "min_value": 1, "max_value": MAX_USES}


@extend_schema_serializer(component_name="ApprovalRule")
class Rule(serializers.Serializer[Any]):
    """A rule that decides in advance."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    effect = serializers.ChoiceField(choices=ApprovalRule.Effect.choices)
    tool = serializers.CharField(help_text='A tool\'s name; "*" for every tool, where the rule denies.')
    user = Someone(allow_null=True, help_text="Null: everyone.")
    role = serializers.ChoiceField(choices=Role.choices, allow_null=True, help_text="Null: every role.")
    agent = serializers.CharField(allow_null=True, help_text="An agent's slug; null: every agent.")
    condition = serializers.JSONField(
        allow_null=True, help_text="A JSON Schema that the arguments must satisfy; null: any arguments."
    )
    uses_left = serializers.IntegerField(allow_null=True, help_text="Calls that it may still approve; null: any.")
    expires_at = serializers.DateTimeField(allow_null=True)
    enabled = serializers.BooleanField()
    state = serializers.ChoiceField(choices=list(rulebook.STATES))
    owner = Someone(help_text="Who answers for it: who made it, or changed it last.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    warnings = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="What its author should know of it; when it is made."
    )

    def to_representation(self, instance: ApprovalRule) -> dict[str, Any]:
        """A row of `rulebook.visible` as everybody is shown it."""
        return rulebook.body(instance)


@extend_schema_serializer(component_name="ApprovalRule")
class RuleRequest(serializers.Serializer[Any]):
    """A rule to be made, or to be tried."""

    name = serializers.CharField(max_length=MAX_NAME)
    effect = serializers.ChoiceField(choices=ApprovalRule.Effect.choices)
    tool = serializers.CharField(max_length=64)
    user = serializers.CharField(required=False, allow_null=True, max_length=150, help_text="A user id or username.")
    role = serializers.ChoiceField(choices=Role.choices, required=False, allow_null=True)
    agent = serializers.CharField(required=False, allow_null=True, max_length=50)
    condition = serializers.JSONField(required=False, allow_null=True)
    uses_left = serializers.IntegerField(**_USES)
    expires_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="A rule that approves needs one, within a year."
    )

    def wanted(self) -> NewRule:
        """What was asked for."""
        given = {name: value for name, value in self.validated_data.items() if value is not None}
        return NewRule(**given)


@extend_schema_serializer(component_name="ApprovalRule")
class RuleChange(serializers.Serializer[Any]):
    """What can be changed of a rule."""

    name = serializers.CharField(required=False, max_length=MAX_NAME)
    enabled = serializers.BooleanField(required=False, help_text="False switches it off.")
    uses_left = serializers.IntegerField(**_USES)
    expires_at = serializers.DateTimeField(required=False, allow_null=True)


@extend_schema_serializer(component_name="DryRunOutcomes")
class Outcomes(serializers.Serializer[Any]):
    """How many calls the rule would have decided."""

    approved = serializers.IntegerField()
    denied = serializers.IntegerField()


@extend_schema_serializer(component_name="DryRunPerson")
class Concerned(Someone):
    """A person, and how many of their calls the rule would have decided."""

    calls = serializers.IntegerField()


@extend_schema_serializer(component_name="DryRunExample")
class Example(serializers.Serializer[Any]):
    """A call that the rule would have decided."""

    tool_call_id = serializers.UUIDField()
    tool = serializers.CharField()
    user = Someone()
    input = serializers.JSONField(allow_null=True, help_text="Null beyond 16,384 bytes.")
    input_bytes = serializers.IntegerField()
    status = serializers.ChoiceField(choices=Status.choices)
    outcome = serializers.CharField(help_text="What came of it: as in by_outcome.")
    created_at = serializers.DateTimeField()


class DryRun(serializers.Serializer[Any]):
    """What a rule would have done in the last 30 days."""

    since = serializers.DateTimeField()
    examined = serializers.IntegerField(help_text="The tool's newest calls, up to 10,000.")
    complete = serializers.BooleanField(help_text="False: there are older calls since then that were not examined.")
    matched = serializers.IntegerField(help_text="Those that the rule is about.")
    undecided = serializers.IntegerField(help_text="Those that the condition could not be decided for.")
    would_have = Outcomes()
    by_outcome = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="What came of the matched ones: approved_by_human, denied_by_human, expired, cancelled, waiting, "
        "let_through_by_rule, ran, refused.",
    )
    by_user = Concerned(many=True)
    examples = Example(many=True)
    warnings = serializers.ListField(child=serializers.CharField())
