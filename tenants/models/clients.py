"""What acts for people: API keys, OAuth clients, sessions of browsers."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models

from tenants.models.people import User
from tenants.models.tenant import Tenant
from tenants.scope.jsonb import JSONField


class ApiKey(models.Model):
    """A bearer key of one member, stored as the SHA-256 of its 256 random bits."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="api_keys")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=200, blank=True)
    prefix = models.CharField(max_length=12, editable=False)
    key_hash = models.BinaryField(unique=True, editable=False)
    scopes = ArrayField(
        models.CharField(max_length=32), null=True, blank=True, help_text="Empty: everything that the role allows."
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "api_keys"
        ordering = ["-created_at"]
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}".strip()


class ClientGrant(models.Model):
    """That an OAuth client may act for one member of one tenant, as they agreed to; it ends with the membership."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="client_grants")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="client_grants")
    client = models.ForeignKey("allauth_idp_oidc.Client", on_delete=models.CASCADE, related_name="grants")
    scopes = ArrayField(models.CharField(max_length=32))
    resource = models.CharField(max_length=500, help_text="The only address that its tokens are good for.")
    last_used_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "client_grants"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.client_id} for {self.user_id}"


class ClientToken(models.Model):
    """What a client has of a grant: an authorization code, access or refresh token, stored as its SHA-256."""

    class Kind(models.TextChoices):
        """What the token is good for."""

        CODE = "code"
        ACCESS = "access"
        REFRESH = "refresh"

    hash = models.BinaryField(primary_key=True, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="client_tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="client_tokens")
    # PostgreSQL ends them with their grant. Django would delete them before it, and lock in another order than others.
    grant = models.ForeignKey(ClientGrant, on_delete=models.DO_NOTHING, related_name="tokens", db_constraint=False)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    scopes = ArrayField(models.CharField(max_length=32))
    details = JSONField(default=dict, help_text="Of a code: where it was sent, and the challenge of its client.")
    expires_at = models.DateTimeField(db_index=True)
    spent_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "client_tokens"

    def __str__(self) -> str:
        return f"{self.kind} of {self.grant_id}"


class UserSession(models.Model):
    """Where a user is logged in: what `django_session` does not say of its row, with which it ends."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session_key = models.CharField(max_length=40, unique=True, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sessions")
    address = models.CharField(max_length=45, blank=True)
    agent = models.CharField(max_length=300, blank=True, help_text="What its browser calls itself.")
    created_at = models.DateTimeField(help_text="When its user logged in.")
    last_used_at = models.DateTimeField()

    class Meta:
        db_table = "user_sessions"
        ordering = ["-last_used_at"]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.address}"
