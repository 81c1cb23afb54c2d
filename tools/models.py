"""What a tenant lets its people's models call, and the rows that the built-in tools keep."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import RandomUUID
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models.functions import Now

from tenants.models import Role, Tenant, User
from tools.interface import Tier

TIERS = [(tier.value, tier.value) for tier in Tier]


class ToolSetting(models.Model):
    """A tenant's own word on one tool: whether it may be called at all, and how often."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    tool_name = models.CharField(max_length=64)
    enabled = models.BooleanField(default=True)
    rate = models.CharField(
        max_length=16, blank=True, help_text='Calls per user, such as "10/m"; empty: what the tool declares.'
    )
    tier = models.CharField(
        max_length=16,
        choices=TIERS,
        blank=True,
        help_text="A higher tier than the tool declares; a lower one changes nothing.",
    )
    approvals_needed = models.PositiveSmallIntegerField(
        default=1, validators=[MinValueValidator(1)], help_text="How many people must approve an Elevated call."
    )
    approval_hours = models.PositiveSmallIntegerField(
        default=24, validators=[MinValueValidator(1)], help_text="How long an Elevated call waits before it expires."
    )

    class Meta:
        db_table = "tool_settings"
        ordering = ["tool_name"]
        constraints = [models.UniqueConstraint(fields=["tenant", "tool_name"], name="tool_settings_tenant_tool")]

    def __str__(self) -> str:
        return self.tool_name


class Grant(models.Model):
    """Allows or denies a tool to a user or to a role; deny wins over allow, and both over the role's ceiling."""

    class Effect(models.TextChoices):
        """Deny wins."""

        ALLOW = "allow"
        DENY = "deny"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    tool_name = models.CharField(max_length=64, help_text='A tool\'s name, or "*" for every tool.')
    effect = models.CharField(max_length=8, choices=Effect.choices, default=Effect.ALLOW)
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    role = models.CharField(max_length=16, choices=Role.choices, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "grants"
        ordering = ["tool_name"]
        indexes = [models.Index(fields=["tenant", "user"], name="grants_tenant_user")]

    def __str__(self) -> str:
        return f"{self.effect} {self.tool_name} to {self.user_id or self.role or 'everyone'}"


class Note(models.Model):
    """A note that a user's model saved; seen by that user only."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    title = models.TextField()
    content = models.TextField()
    tags = ArrayField(models.TextField(), default=list, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "notes"
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["tenant", "user", "-created_at"], name="notes_recent")]

    def __str__(self) -> str:
        return self.title


class Task(models.Model):
    """A task on a user's list; `due_text` is the due date as it was given, so that a date stays a date."""

    class Status(models.TextChoices):
        """Open or done."""

        PENDING = "pending"
        COMPLETED = "completed"

    class Priority(models.TextChoices):
        """How urgent."""

        LOW = "low"
        MEDIUM = "medium"
        HIGH = "high"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    title = models.TextField()
    due_date = models.DateTimeField(null=True, blank=True)
    due_text = models.TextField(null=True, blank=True)
    priority = models.CharField(max_length=8, choices=Priority.choices, db_default="medium")
    status = models.CharField(max_length=16, choices=Status.choices, db_default="pending")
    created_at = models.DateTimeField(db_default=Now())
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "tasks"
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["tenant", "user", "-created_at"], name="tasks_recent")]

    def __str__(self) -> str:
        return self.title


class IdempotencyKey(models.Model):
    """An Idempotency-Key and what it began, a call or a run: unique for its user, whichever of the two it began.

    `call_id` and `run_id` are both empty while a request is about to make its call, until `claimed_until`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, db_default=RandomUUID(), editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.TextField()
    request_hash = models.BinaryField(help_text="Of the request's body; empty once its call was erased.")
    call_id = models.UUIDField(null=True)
    run_id = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "idempotency_keys"
        constraints = [models.UniqueConstraint(fields=["tenant", "user", "key"], name="idempotency_keys_once")]
        indexes = [
            models.Index(fields=["created_at"], name="idempotency_keys_age"),
            models.Index(fields=["call_id"], name="idempotency_keys_call"),
            models.Index(fields=["tenant", "run_id"], name="idempotency_keys_run"),
        ]

    def __str__(self) -> str:
        return self.key
