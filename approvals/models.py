"""What waits for a human, what humans decided, and the rules that decide in their stead."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from audit.identifiers import uuid7
from tenants.models import Role, Tenant, User
from tenants.scope.jsonb import JSONField

# The migration ties these with (tenant_id, x_id) keys, which Django has no word for, and indexes them by tenant.
TIED: dict[str, Any] = {"db_constraint": False, "db_index": False}
PENDING = Q(status="pending")


class ApprovalRequest(models.Model):
    """One Elevated call that waits for a human; `approvals.requests.decisions` writes it and guards its transitions.

    It binds what is decided: the user, the tool with the hash of its schema, the hash of the arguments, and a time.
    `used_at` is when the run took note of the decision, which happens once.
    """

    class Status(models.TextChoices):
        """All but the first are final."""

        PENDING = "pending"
        APPROVED = "approved"
        DENIED = "denied"
        EXPIRED = "expired"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    call_id = models.UUIDField()
    run_id = models.UUIDField(null=True, help_text="Empty for a call without a chat.")
    conversation_id = models.UUIDField(null=True)
    agent = models.TextField(default="", help_text="The slug of the agent whose run it is.")
    tool_name = models.TextField()
    tier = models.TextField()
    why = models.TextField(help_text="Why a human has to decide.")
    context = JSONField(default=list, help_text="What the conversation led up to: [{role, text, cut}].")
    schema_hash = models.TextField(help_text="Of the tool's parameters when it was asked.")
    params_hash = models.TextField(help_text="Of the arguments that are to be approved, edited ones included.")
    revision = models.IntegerField(
        default=1, db_default=1, help_text="1 for the arguments as the model sent them; each edit makes another."
    )
    approvals_needed = models.SmallIntegerField(default=1)
    approved_by = ArrayField(models.UUIDField(), null=True, help_text="Whose approvals counted when it was approved.")
    status = models.TextField(choices=Status.choices, default=Status.PENDING)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)
    usable_until = models.DateTimeField(null=True, help_text="Until when an approved call may begin.")
    used_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "approval_requests"
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "call_id"], name="approval_requests_call")]
        indexes = [
            models.Index(fields=["tenant", "-id"], name="approval_requests_tenant"),
            models.Index(fields=["tenant", "id"], condition=PENDING, name="approval_requests_queue"),
            models.Index(fields=["tenant", "tool_name", "id"], condition=PENDING, name="approval_requests_by_tool"),
            models.Index(fields=["tenant", "user", "id"], condition=PENDING, name="approval_requests_by_user"),
            models.Index(fields=["expires_at"], condition=PENDING, name="approval_requests_expiry"),
            models.Index(
                fields=["decided_at"], condition=~PENDING & Q(used_at__isnull=True), name="approval_requests_unused"
            ),
            models.Index(fields=["run_id"], name="approval_requests_run"),
        ]

    def __str__(self) -> str:
        return f"{ascii(self.tool_name)[1:-1]} {self.status}"


class ApprovalDecision(models.Model):
    """What one human decided about one request; append-only. It counts for its revision of the arguments alone."""

    class Verdict(models.TextChoices):
        """Yes or no."""

        APPROVE = "approve"
        DENY = "deny"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    request = models.ForeignKey(ApprovalRequest, on_delete=models.PROTECT, related_name="decisions", **TIED)
    call_id = models.UUIDField()
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    verdict = models.TextField(choices=Verdict.choices)
    reason = models.TextField(default="")
    via = models.TextField(help_text="Where it was decided: api, page, socket or admin.")
    params_hash = models.TextField()
    revision = models.IntegerField(
        default=1, db_default=1, help_text="Which revision of the arguments it is about; it counts for no other."
    )
    edit = JSONField(null=True, help_text="What was changed in the arguments: [{op, path, before, after}].")
    created_at = models.DateTimeField()

    class Meta:
        db_table = "approval_decisions"
        ordering = ["id"]
        constraints = [
            # Who has approved may still deny.
            models.UniqueConstraint(
                fields=["tenant", "request", "user", "revision", "verdict"], name="approval_decisions_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} {self.request_id}"


class ApprovalRule(models.Model):
    """Decides calls of a kind in advance: approves what would wait for a human, or denies whatever its tier.

    A call matches when tool, user or role, agent and condition all do. Rules are switched off, never deleted, so that
    what they let through can be explained.
    """

    class Effect(models.TextChoices):
        """Deny wins over approve."""

        APPROVE = "approve"
        DENY = "deny"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=200)
    effect = models.CharField(max_length=8, choices=Effect.choices, default=Effect.APPROVE)
    tool_name = models.CharField(max_length=64, help_text='A tool\'s name; a deny rule may say "*" for every tool.')
    user = models.ForeignKey(
        User, on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="Empty: everyone."
    )
    role = models.CharField(max_length=16, choices=Role.choices, blank=True, help_text="Empty: every role.")
    agent = models.CharField(max_length=50, blank=True, help_text="An agent's slug; empty: every agent.")
    condition = JSONField(
        null=True, blank=True, help_text="A JSON Schema that the arguments must satisfy; empty: any arguments."
    )
    binding = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="Of a service's tool, what its definition was when the rule was made.",
    )
    uses_left = models.IntegerField(null=True, blank=True, help_text="Calls that it may still approve; empty: any.")
    expires_at = models.DateTimeField(null=True, blank=True)
    enabled = models.BooleanField(default=True)
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", help_text="Who answers for it.")
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "approval_rules"
        ordering = ["tool_name", "name"]
        indexes = [models.Index(fields=["tenant", "enabled"], name="approval_rules_enabled")]

    def __str__(self) -> str:
        return f"{self.effect} {self.tool_name}: {self.name}"
