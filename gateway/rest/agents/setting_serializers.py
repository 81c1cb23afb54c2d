"""The shapes of what a tenant says about tools, and of grants."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from gateway.rest.approvals.request_serializers import Someone
from gateway.rest.call_serializers import TIERS
from tenants.models import Role
from tools.models import Grant as Row
from tools.settings.changes import LONGEST_WAIT, MOST_APPROVALS, SHORTEST_WAIT


class ToolSetting(serializers.Serializer[Any]):
    """A tool of the tenant, with what is said of it."""

    tool = serializers.CharField()
    service = serializers.CharField(allow_null=True, help_text="The slug of its service; null: built in.")
    description = serializers.CharField()
    enabled = serializers.BooleanField()
    tier = serializers.ChoiceField(choices=TIERS, help_text="The one that gates go by.")
    declared_tier = serializers.ChoiceField(choices=TIERS)
    rate = serializers.CharField(help_text='Calls of each user, such as "10/m".')
    declared_rate = serializers.CharField()
    approvals_needed = serializers.IntegerField(help_text="How many people must approve an Elevated call.")
    approval_expires = serializers.IntegerField(help_text="Seconds that an Elevated call waits for them.")
    tokens = serializers.IntegerField(help_text="What its definition costs in a prompt, estimated.")


class ToolSettingList(serializers.Serializer[Any]):
    """A page of the tools."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = ToolSetting(many=True)


class ToolSettingChange(serializers.Serializer[Any]):
    """What is said of a tool; null stands for the tool's own."""

    enabled = serializers.BooleanField(required=False)
    tier = serializers.ChoiceField(choices=TIERS, required=False, allow_null=True, help_text="Not below declared_tier.")
    rate = serializers.CharField(required=False, allow_null=True, max_length=16)
    approvals_needed = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=MOST_APPROVALS)
    approval_expires = serializers.IntegerField(
        required=False, allow_null=True, min_value=SHORTEST_WAIT, max_value=LONGEST_WAIT
    )


class ToolSettingRequest(ToolSettingChange):
    """All that is said of a tool; what is left out is the tool's own."""

    enabled = serializers.BooleanField()


class Grant(serializers.Serializer[Any]):
    """Allows or denies a tool; to a user, to a role, to a user as long as they have a role, or to everybody."""

    id = serializers.UUIDField()
    tool = serializers.CharField(help_text='A name, "service.*", or "*" for every tool.')
    effect = serializers.ChoiceField(choices=Row.Effect.choices, help_text="A deny wins over every allow.")
    user = Someone(allow_null=True, help_text="Null: everybody.")
    role = serializers.ChoiceField(choices=Role.choices, allow_null=True, help_text="Null: every role.")
    created_at = serializers.DateTimeField()


@extend_schema_serializer(component_name="GrantRequest")
class GrantRequest(serializers.Serializer[Any]):
    """A grant to be given."""

    tool = serializers.CharField(max_length=64)
    effect = serializers.ChoiceField(choices=Row.Effect.choices)
    user = serializers.CharField(required=False, allow_null=True, max_length=150, help_text="A username or id.")
    role = serializers.ChoiceField(choices=Role.choices, required=False, allow_null=True)
