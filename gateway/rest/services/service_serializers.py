"""The shapes of services and their tools, for the OpenAPI document; `services.shown` makes the answers."""

from typing import Any

from rest_framework import serializers

from gateway.rest.call_serializers import TIERS
from gateway.rest.framework.fields import Recorded
from services import models

KINDS = models.Service.Kind.choices
_CREDENTIALS = ("none", "bearer", "header", "oauth_client", "oauth_user")


class CredentialRequest(serializers.Serializer[Any]):
    """As whom a service is called; never shown again."""

    type = serializers.ChoiceField(choices=_CREDENTIALS)
    token = serializers.CharField(required=False, help_text="Of a bearer.")
    name = serializers.CharField(required=False, help_text="The header of a header credential.")
    value = serializers.CharField(required=False, help_text="The header's value.")


class ServiceCredential(serializers.Serializer[Any]):
    """What may be said of a credential."""

    type = serializers.ChoiceField(choices=_CREDENTIALS)
    name = serializers.CharField(required=False)


class ServiceRequest(serializers.Serializer[Any]):
    """A new service."""

    slug = serializers.CharField(max_length=32, help_text="Its tools are called slug.tool.")
    kind = serializers.ChoiceField(choices=KINDS)
    url = serializers.CharField(max_length=2048, help_text="What the paths of its tools are added to.")
    descriptor = serializers.JSONField(required=False, help_text="For http: a descriptor, v2 or v1, or its address.")
    openapi = serializers.JSONField(required=False, help_text="For openapi: an OpenAPI 3 document, or its address.")
    operations = serializers.ListField(
        child=serializers.CharField(), required=False, help_text='Which become tools: operationIds, or "GET /path".'
    )
    credential = CredentialRequest(required=False)
    timeout = serializers.FloatField(required=False, help_text="Seconds that one call may take, up to 30.")


class ServiceChange(serializers.Serializer[Any]):
    """What changes of a service. A document takes a new snapshot, as a refresh does."""

    url = serializers.CharField(max_length=2048)
    descriptor = serializers.JSONField()
    openapi = serializers.JSONField()
    operations = serializers.ListField(child=serializers.CharField())
    credential = CredentialRequest()
    timeout = serializers.FloatField()
    enabled = serializers.BooleanField()
    in_prompts = serializers.BooleanField(help_text="Whether its feeds and skill are put into prompts.")


class RefreshRequest(serializers.Serializer[Any]):
    """Where the new snapshot comes from; empty: from where the last one came."""

    descriptor = serializers.JSONField(required=False)
    openapi = serializers.JSONField(required=False)
    operations = serializers.ListField(child=serializers.CharField(), required=False)


class Service(Recorded):
    """A service as lists show it."""

    slug = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    url = serializers.CharField()
    description = serializers.CharField()
    enabled = serializers.BooleanField()
    credential = ServiceCredential()
    timeout = serializers.FloatField()
    source_url = serializers.CharField(allow_null=True, help_text="Where a refresh fetches its document.")
    operations = serializers.ListField(child=serializers.CharField())
    snapshot_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class ToolChange(serializers.Serializer[Any]):
    """What differs in one field between the accepted definition and the present one."""

    field = serializers.CharField()  # type: ignore[assignment]
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class ToolDrift(serializers.Serializer[Any]):
    """What changed since a tool was accepted; until then it cannot be called."""

    removed = serializers.BooleanField(help_text="Whether the service does not offer it any more.")
    hash = serializers.CharField(help_text="What accepts it.")
    changes = ToolChange(many=True)


class ToolLabels(serializers.Serializer[Any]):
    """What a tool's data is like."""

    reads_private = serializers.BooleanField(required=False)
    reads_untrusted = serializers.BooleanField(required=False)
    leaves_tenant = serializers.BooleanField(required=False)


class ToolHttp(serializers.Serializer[Any]):
    """How a tool is called."""

    method = serializers.CharField()
    path = serializers.CharField()


class LastCall(serializers.Serializer[Any]):
    """How the last call went that reached the service, or tried to."""

    status = serializers.CharField()
    error_code = serializers.CharField(allow_null=True)
    error_message = serializers.CharField(allow_null=True)
    finished_at = serializers.DateTimeField()
    execution_time_ms = serializers.IntegerField(allow_null=True)


class ServiceTool(Recorded):
    """A tool of a service."""

    name = serializers.CharField()
    tool = serializers.CharField(help_text="What models call it: slug.name.")
    title = serializers.CharField()
    description = serializers.CharField()
    input_schema = serializers.DictField(help_text="As the service says.")
    output_schema = serializers.DictField(allow_null=True)
    parameters = serializers.DictField(help_text="As a model is shown it.")
    annotations = serializers.DictField(help_text="What the service says of itself; it decides nothing.")
    http = ToolHttp(allow_null=True)
    enabled = serializers.BooleanField(help_text="Whether it can be called now.")
    tier = serializers.ChoiceField(choices=TIERS)
    idempotent = serializers.BooleanField()
    parallel_safe = serializers.BooleanField()
    labels = ToolLabels()
    hash = serializers.CharField(help_text="Of its definition in the last snapshot.")
    accepted_hash = serializers.CharField()
    drift = ToolDrift(allow_null=True)
    last_call = LastCall(allow_null=True)


class ServiceStatus(serializers.Serializer[Any]):
    """What the last real calls did."""

    state = serializers.ChoiceField(choices=("unknown", "ok", "failing"))
    last_success_at = serializers.DateTimeField(allow_null=True)
    last_failure_at = serializers.DateTimeField(allow_null=True)
    last_error = serializers.DictField(allow_null=True)


class ServiceDetail(Service):
    """A service with its tools."""

    endpoints = serializers.ListField(child=serializers.DictField(), help_text="For people only.")
    feeds = serializers.ListField(child=serializers.DictField())
    skill = serializers.CharField(help_text="Guidance that is put into prompts.")
    skill_problem = serializers.CharField(help_text="Why its descriptor's skill could not be read.")
    in_prompts = serializers.BooleanField(help_text="False once they changed, until an owner says so.")
    status = ServiceStatus()
    tools = ServiceTool(many=True)


class ServiceToolChange(serializers.Serializer[Any]):
    """What a tenant says of a tool."""

    enabled = serializers.BooleanField()
    tier = serializers.ChoiceField(choices=TIERS)
    idempotent = serializers.BooleanField()
    parallel_safe = serializers.BooleanField()
    labels = ToolLabels()


class AcceptRequest(serializers.Serializer[Any]):
    """What was read, and is accepted."""

    hash = serializers.CharField()


class ServiceTest(serializers.Serializer[Any]):
    """What a test found."""

    ok = serializers.BooleanField()
    status = serializers.IntegerField(allow_null=True, help_text="The HTTP status; null: no answer.")
    ms = serializers.IntegerField()
    detail = serializers.CharField()
