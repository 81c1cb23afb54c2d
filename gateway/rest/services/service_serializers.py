"""The shapes of services and their tools, for the OpenAPI document; `services.shown` makes the answers."""

from typing import Any

from rest_framework import serializers

from gateway.rest.call_serializers import TIERS
from gateway.rest.framework.fields import Recorded
from services import models
from services.credentials.stored import REGISTRATIONS

KINDS = models.Service.Kind.choices
_CREDENTIALS = ("none", "bearer", "header", "oauth_client", "oauth_user")


class CredentialRequest(serializers.Serializer[Any]):
    """As whom a service is called; never shown again."""

    type = serializers.ChoiceField(choices=_CREDENTIALS)
    token = serializers.CharField(required=False, help_text="Of a bearer.")
    name = serializers.CharField(required=False, help_text="The header of a header credential.")
    value = serializers.CharField(required=False, help_text="The header's value.")
    client_id = serializers.CharField(required=False, help_text="Of an OAuth client.")
    client_secret = serializers.CharField(required=False, help_text="Of an OAuth client; a public one has none.")
    issuer = serializers.CharField(required=False, help_text="The authorization server, which says where the rest is.")
    authorization_endpoint = serializers.CharField(required=False, help_text="Of a server that publishes nothing.")
    token_endpoint = serializers.CharField(required=False, help_text="Of a server that publishes nothing.")
    revocation_endpoint = serializers.CharField(required=False, help_text="Of a server that publishes nothing.")
    scopes = serializers.ListField(child=serializers.CharField(), required=False, help_text="What is asked for.")
    resource = serializers.CharField(required=False, help_text="What tokens are for (RFC 8707), where a server asks.")
    registration = serializers.ChoiceField(
        choices=REGISTRATIONS, required=False, help_text="How Toolgate becomes a client, without a client_id."
    )


class ServiceCredential(serializers.Serializer[Any]):
    """What may be said of a credential."""

    type = serializers.ChoiceField(choices=_CREDENTIALS)
    name = serializers.CharField(required=False)
    client_id = serializers.CharField(required=False)
    scopes = serializers.ListField(child=serializers.CharField(), required=False)
    resource = serializers.CharField(required=False)
    issuer = serializers.CharField(required=False, allow_null=True, help_text="Null: found at connecting.")
    connected = serializers.BooleanField(required=False, help_text="The caller, where each user connects.")
    expires_at = serializers.DateTimeField(required=False, allow_null=True, help_text="Of the present token.")


class ServiceRequest(serializers.Serializer[Any]):
    """A new service. One from the catalogue needs neither kind nor document."""

    catalogue = serializers.CharField(required=False, help_text="The name of an entry of the catalogue.")
    hosts = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="For webhook of the catalogue: what may be called."
    )
    slug = serializers.CharField(
        max_length=32, required=False, help_text="Its tools are called slug.tool; from the catalogue: its name there."
    )
    kind = serializers.ChoiceField(choices=KINDS, required=False)
    url = serializers.CharField(max_length=2048, required=False, help_text="What the paths of its tools are added to.")
    descriptor = serializers.JSONField(required=False, help_text="For http: a descriptor, v2 or v1, or its address.")
    openapi = serializers.JSONField(required=False, help_text="For openapi: an OpenAPI 3 document, or its address.")
    operations = serializers.ListField(
        child=serializers.CharField(), required=False, help_text='Which become tools: operationIds, or "GET /path".'
    )
    credential = CredentialRequest(required=False)
    timeout = serializers.FloatField(required=False, help_text="Seconds that one call may take, up to 30.")


class SuggestedTool(serializers.Serializer[Any]):
    """A tool of an entry of the catalogue, with what is suggested to say of it."""

    name = serializers.CharField()
    description = serializers.CharField()
    tier = serializers.ChoiceField(choices=TIERS)
    idempotent = serializers.BooleanField()
    parallel_safe = serializers.BooleanField()
    labels = serializers.DictField(child=serializers.BooleanField())


class CatalogueCredential(serializers.Serializer[Any]):
    """What an entry's API asks for."""

    type = serializers.ChoiceField(choices=_CREDENTIALS)
    help = serializers.CharField(help_text="Where to get one.")


class CatalogueEntry(serializers.Serializer[Any]):
    """A service that can be added by its name."""

    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    url = serializers.CharField(allow_null=True, help_text="Where it is called; null: its owner says.")
    credential = CatalogueCredential()
    needs = serializers.ListField(child=serializers.CharField(), help_text="What its owner has to say: hosts, url.")
    tools = SuggestedTool(many=True, help_text="Empty where only the service knows.")


class Catalogue(serializers.Serializer[Any]):
    """All entries, on one page."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = CatalogueEntry(many=True)


class ServiceFeed(serializers.Serializer[Any]):
    """A resource of an MCP server as a feed."""

    name = serializers.CharField(max_length=64)
    uri = serializers.CharField(help_text="Of a resource that the server lists.")
    ttl = serializers.FloatField(required=False, help_text="Seconds that an answer is good for; 60 if left out.")


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
    feeds = ServiceFeed(many=True, help_text="Of an MCP server: resources that are put into prompts.")


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
    source_url = serializers.CharField(
        allow_null=True, help_text="Where a refresh fetches its document; catalogue:NAME: with Toolgate's releases."
    )
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
    servers = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Where it is called, if not at the service's address."
    )


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


class LeftOut(serializers.Serializer[Any]):
    """A tool, resource, template or prompt of a server that cannot be used."""

    name = serializers.CharField()
    why = serializers.CharField()


class McpOffer(serializers.Serializer[Any]):
    """What an MCP server said of itself with the last snapshot; entries are as the protocol has them."""

    revision = serializers.CharField(help_text="The revision of the protocol that it speaks.")
    server = serializers.DictField(help_text="Its name, title and version.")
    completions = serializers.BooleanField(help_text="Whether it completes arguments of prompts and templates.")
    resources = serializers.ListField(child=serializers.DictField())
    templates = serializers.ListField(child=serializers.DictField())
    prompts = serializers.ListField(child=serializers.DictField())
    left_out = LeftOut(many=True)


class ServiceDetail(Service):
    """A service with its tools."""

    endpoints = serializers.ListField(child=serializers.DictField(), help_text="For people only.")
    feeds = serializers.ListField(child=serializers.DictField())
    skill = serializers.CharField(help_text="Guidance that is put into prompts.")
    skill_problem = serializers.CharField(help_text="Why its descriptor's skill could not be read.")
    in_prompts = serializers.BooleanField(help_text="False once they changed, until an owner says so.")
    mcp = McpOffer(allow_null=True, help_text="What an MCP server offers beside tools; null for other kinds.")
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
