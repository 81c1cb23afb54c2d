"""Services and their tools, as their tenants added them."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from tenants.models import Tenant, User
from tenants.scope.jsonb import JSONField
from tools.models import TIERS


class Service(models.Model):
    """Something outside that offers tools, with what a call of them needs."""

    class Kind(models.TextChoices):
        """How it is asked, and where its snapshot comes from."""

        HTTP = "http"
        OPENAPI = "openapi"
        MCP = "mcp"

    class Identity(models.TextChoices):
        """As whom Toolgate calls it."""

        NONE = "none"
        BEARER = "bearer"
        HEADER = "header"
        OAUTH_CLIENT = "oauth_client"
        OAUTH_USER = "oauth_user"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    slug = models.CharField(max_length=32)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    url = models.CharField(max_length=2048, help_text="What paths of its tools are added to.")
    description = models.TextField(blank=True, default="")
    enabled = models.BooleanField(default=True, help_text="Off: none of its tools can be called.")
    identity = models.CharField(max_length=16, choices=Identity.choices, default=Identity.NONE)
    header = models.CharField(max_length=100, blank=True, default="", help_text="The header of a header credential.")
    secret = models.TextField(blank=True, default="", editable=False, help_text="The credential, encrypted.")
    oauth = JSONField(default=dict, blank=True, help_text="Of an OAuth credential, what is no secret.")
    timeout = models.FloatField(default=20.0, help_text="Seconds that one call may take.")
    source_url = models.CharField(
        max_length=2048, blank=True, default="", help_text="Where a refresh fetches the document; empty: nowhere."
    )
    source = models.TextField(blank=True, default="", editable=False, help_text="The document of the last snapshot.")
    operations = ArrayField(models.TextField(), default=list, blank=True, help_text="What an OpenAPI document gives.")
    endpoints = JSONField(default=list, blank=True, help_text="What a descriptor says of its API, for people.")
    feeds = JSONField(default=list, blank=True, help_text="What is put into prompts: [{name, path, ttl}].")
    skill = models.TextField(blank=True, default="", help_text="Guidance that is put into prompts.")
    skill_problem = models.TextField(blank=True, default="", help_text="Why its descriptor's skill is not here.")
    mcp = JSONField(default=dict, blank=True, help_text="What an MCP server offers beside tools.")
    in_prompts = models.BooleanField(default=True, help_text="Whether feeds and skill are put into prompts.")
    snapshot_at = models.DateTimeField(db_default=Now(), help_text="When its tools were read last.")
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "services"
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "slug"],
                name="services_slug",
                violation_error_message="The tenant has a service of this slug already: change that one.",
            )
        ]

    def __str__(self) -> str:
        return self.slug


class ServiceTool(models.Model):
    """A tool of a service: the definition that was accepted, what came instead since, and what its tenant says of it.

    It can be called while it and its service are enabled, and `hash`, of the last snapshot, is the accepted one.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    # The migration makes the key with the tenant in it.
    service = models.ForeignKey(
        Service, on_delete=models.CASCADE, related_name="tools", db_constraint=False, db_index=False
    )
    name = models.CharField(max_length=64, help_text="Its own, without the service's slug.")
    tool_name = models.CharField(max_length=64, help_text="What models and people call it: slug.name.")
    alias = models.CharField(max_length=64, help_text="What it is called towards providers: slug__name.")
    definition = JSONField(help_text="As the service said: name, title, description, schemas, annotations, http.")
    parameters = JSONField(help_text="The JSON Schema that a model is shown, and arguments are held to.")
    http = JSONField(null=True, help_text="How it is called, which no model sees.")
    accepted_hash = models.CharField(max_length=64, help_text="SHA-256 of the canonical JSON of the definition.")
    hash = models.CharField(max_length=64, blank=True, help_text="Of the last snapshot; empty: it is gone.")
    pending = JSONField(null=True, blank=True, help_text="The definition of the last snapshot, where it differs.")
    enabled = models.BooleanField(default=False)
    tier = models.CharField(max_length=16, choices=TIERS, default="system")
    idempotent = models.BooleanField(default=False, help_text="Calling it twice does no more than calling it once.")
    parallel_safe = models.BooleanField(default=False, help_text="A turn's calls of it may run side by side.")
    reads_private = models.BooleanField(default=True, help_text="Its answers hold what not everybody may know.")
    reads_untrusted = models.BooleanField(default=True, help_text="Its answers hold what strangers wrote.")
    leaves_tenant = models.BooleanField(default=True, help_text="Its arguments reach others than the tenant.")
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "service_tools"
        ordering = ["tool_name"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "tool_name"], name="service_tools_name"),
            models.UniqueConstraint(fields=["tenant", "alias"], name="service_tools_alias"),
        ]
        indexes = [models.Index(fields=["tenant", "service"], name="service_tools_service")]

    def __str__(self) -> str:
        return self.tool_name


class Connection(models.Model):
    """Tokens of an authorization server: a user's for a service, or without a user the tenant's own.

    `fence` counts the writes of tokens; who may ask for new ones has `refreshing_until`. Once `ended_at` is set, the
    user has to connect again.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    # The migration makes the keys of these two with the tenant in them.
    service = models.ForeignKey(
        Service, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    user = models.ForeignKey(
        User, on_delete=models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    issuer = models.CharField(max_length=2048)
    resource = models.CharField(max_length=2048, blank=True, help_text="What the tokens are for; empty: not said.")
    server = JSONField(help_text="The endpoints that the tokens are from.")
    client_id = models.CharField(max_length=8192)
    client_secret = models.TextField(blank=True, default="", editable=False, help_text="Encrypted.")
    access_token = models.TextField(blank=True, default="", editable=False, help_text="Encrypted.")
    refresh_token = models.TextField(blank=True, default="", editable=False, help_text="Encrypted.")
    scope = models.TextField(blank=True, default="", help_text="What was granted.")
    expires_at = models.DateTimeField(null=True, help_text="Of the access token; null: the server does not say.")
    fence = models.IntegerField(default=0)
    refreshing_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    problem = models.TextField(blank=True, default="", help_text="Why there is no newer token.")
    connected_at = models.DateTimeField(db_default=Now())
    refreshed_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "connections"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "service", "user"], name="connections_key", nulls_distinct=False)
        ]
        indexes = [models.Index(fields=["tenant", "user"], name="connections_user")]

    def __str__(self) -> str:
        return f"{self.service_id} as {self.user_id or 'the tenant'}"


class ConnectionAttempt(models.Model):
    """A user on the way through an authorization server's pages; it is used once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    service = models.ForeignKey(
        Service, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    user = models.ForeignKey(User, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    state_hash = models.BinaryField(help_text="SHA-256 of `state`.")
    session_hash = models.BinaryField(null=True, help_text="SHA-256 of the session's key; null: begun with an API key.")
    verifier = models.TextField(editable=False, help_text="Encrypted.")
    server = JSONField()
    client_id = models.CharField(max_length=8192)
    client_secret = models.TextField(blank=True, default="", editable=False, help_text="Encrypted.")
    resource = models.CharField(max_length=2048, blank=True)
    expires_at = models.DateTimeField()

    class Meta:
        db_table = "connection_attempts"
        constraints = [models.UniqueConstraint(fields=["tenant", "state_hash"], name="connection_attempts_state")]
        indexes = [
            models.Index(fields=["tenant", "user"], name="connection_attempts_user"),
            models.Index(fields=["expires_at"], name="connection_attempts_over"),
        ]

    def __str__(self) -> str:
        return f"{self.service_id} as {self.user_id}"


class ServiceClient(models.Model):
    """The client that Toolgate registered at an authorization server, for a service."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    service = models.ForeignKey(
        Service, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    issuer = models.CharField(max_length=2048)
    redirect_uri = models.CharField(max_length=2048)
    client_id = models.CharField(max_length=8192)
    client_secret = models.TextField(blank=True, default="", editable=False, help_text="Encrypted.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "service_clients"
        constraints = [models.UniqueConstraint(fields=["tenant", "service"], name="service_clients_key")]

    def __str__(self) -> str:
        return f"{self.service_id} at {self.issuer}"


class TokenRevocation(models.Model):
    """Tokens that are not used any more, until their server has been told so; a trigger of `connections` writes it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # It outlives its tenant: the server has to be told all the same.
    tenant = models.ForeignKey(
        Tenant, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    server = JSONField()
    client_id = models.CharField(max_length=8192)
    client_secret = models.TextField(blank=True, editable=False, help_text="Encrypted.")
    access_token = models.TextField(blank=True, editable=False, help_text="Encrypted.")
    refresh_token = models.TextField(blank=True, editable=False, help_text="Encrypted.")
    attempts = models.SmallIntegerField(default=0)
    due_at = models.DateTimeField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "token_revocations"
        indexes = [models.Index(fields=["due_at"], name="token_revocations_due")]

    def __str__(self) -> str:
        return str(self.id)
