"""Tenants, the people in them, and their API keys."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models

from tenants.scope.jsonb import JSONField


class Role(models.TextChoices):
    """What a member may do in a tenant; `tenants.people.principal` gives each role its scopes."""

    MEMBER = "member"
    APPROVER = "approver"
    AUDITOR = "auditor"
    OWNER = "owner"


class Tenant(models.Model):
    """One customer; row-level security separates its rows from those of others."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    role_ceilings = JSONField(
        default=dict,
        blank=True,
        help_text='The highest tier of tools a role may use, such as {"auditor": "read_only"}.',
    )
    default_tools = JSONField(default=list, blank=True, help_text='What "..." stands for in an agent\'s list of tools.')
    retention_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="After how many days the payloads of tool calls are erased; empty: never."
    )
    erased_until = models.DateTimeField(null=True, editable=False, help_text="How far retention has got.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "tenants"
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class RightsVersion(models.Model):
    """The version of a tenant's rights, which triggers of the tables that say them change.

    What was read under a version holds for as long as it is the tenant's, but for what time or use ends.
    """

    tenant = models.OneToOneField(Tenant, on_delete=models.CASCADE, primary_key=True, related_name="+")
    version = models.UUIDField(default=uuid.uuid4)

    class Meta:
        db_table = "rights_versions"

    def __str__(self) -> str:
        return str(self.version)


class User(AbstractUser):
    """A person; one account may be a member of several tenants. A superuser operates the whole installation."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)

    class Meta:
        db_table = "users"
        ordering = ["username"]


class Membership(models.Model):
    """A user's role in a tenant; without it neither a key nor a session has access to the tenant."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.MEMBER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "memberships"
        ordering = ["tenant", "user"]
        constraints = [models.UniqueConstraint(fields=["tenant", "user"], name="memberships_tenant_user")]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role}"


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
