"""What waits for a human, what humans decided and answered, and the rules that decide in their stead."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from audit.identifiers import uuid7
from tenants.models import TIED, Role, Tenant, User
from tenants.scope.jsonb import JSONField

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


class Question(models.Model):
    """One question of a call to its own user; `approvals.questions` writes it and guards its transitions.

    What is asked together is a round: when each of its questions is decided it is ready, and used once, when the call
    goes on.
    """

    class Status(models.TextChoices):
        """All but the first are final."""

        PENDING = "pending"
        ANSWERED = "answered"
        EXPIRED = "expired"
        CANCELLED = "cancelled"

    class Action(models.TextChoices):
        """What the user did about it; what expired counts as cancelled."""

        ACCEPT = "accept"
        DECLINE = "decline"
        CANCEL = "cancel"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    call_id = models.UUIDField()
    run_id = models.UUIDField(null=True, help_text="Empty for a call without a chat.")
    conversation_id = models.UUIDField(null=True)
    tool_name = models.TextField()
    binding = models.TextField(help_text="What the tool was when it asked.")
    round = models.SmallIntegerField(help_text="How often the call has asked, from 1.")
    position = models.SmallIntegerField(help_text="Its place among what is asked together, from 0.")
    key = models.TextField(help_text="What the tool calls it.")
    message = models.TextField()
    schema = JSONField(null=True, help_text="The JSON Schema of the answer.")
    url = models.TextField(null=True, help_text="The page to visit, where there is no schema.")
    request = JSONField(null=True, help_text="What the MCP client that made the call is asked instead of its user.")
    question_hash = models.TextField(help_text="Of what is asked: key, message, schema, url and request.")
    state = models.TextField(null=True, help_text="What the tool gets back, encrypted; with the first of a round.")
    status = models.TextField(choices=Status.choices, default=Status.PENDING)
    action = models.TextField(choices=Action.choices, null=True)
    content = JSONField(null=True)
    content_hash = models.TextField(null=True)
    via = models.TextField(null=True, help_text="Where it was answered: api, page or mcp.")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    ready_at = models.DateTimeField(null=True, help_text="When the last question of its round was decided.")
    used_at = models.DateTimeField(null=True, help_text="When the call went on, or ended.")

    class Meta:
        db_table = "questions"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "call_id", "round", "position"], name="questions_place"),
        ]
        indexes = [
            models.Index(fields=["call_id", "round"], name="questions_call"),
            models.Index(fields=["tenant", "user", "-id"], name="questions_of_user"),
            models.Index(fields=["expires_at"], condition=PENDING, name="questions_expiry"),
            models.Index(
                fields=["ready_at"],
                condition=Q(ready_at__isnull=False) & Q(used_at__isnull=True),
                name="questions_unused",
            ),
            models.Index(fields=["run_id"], condition=Q(used_at__isnull=True), name="questions_run"),
        ]

    def __str__(self) -> str:
        return f"{ascii(self.tool_name)[1:-1]} asks: {self.status}"


# What a question's entry in the ledger may say of it.
ENDED = ("answered", "expired")


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


class AccessCondition(models.Model):
    """What a tenant demands of calls of a tool: arguments and context must satisfy a schema."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=200)
    tool_name = models.CharField(max_length=64, help_text='A tool\'s name, "service.*", or "*" for every tool.')
    agent = models.CharField(max_length=50, blank=True, help_text="An agent's slug; empty: every agent.")
    condition = JSONField(help_text='A JSON Schema that {"args", "context"} must satisfy for a call to go on.')
    time_zone = models.CharField(max_length=64, default="UTC", help_text="Whose hours and days it means.")
    enabled = models.BooleanField(default=True)
    version = models.IntegerField(default=1, help_text="Another one after each change.")
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "access_conditions"
        ordering = ["tool_name", "name"]
        indexes = [models.Index(fields=["tenant", "enabled"], name="access_conditions_enabled")]

    def __str__(self) -> str:
        return f"{self.tool_name}: {self.name}"


class AlertLevel(models.Model):
    """How alarmed a tenant is, from 0, all is well, to 3; without a row 0."""

    tenant = models.OneToOneField(Tenant, on_delete=models.CASCADE, primary_key=True, related_name="+")
    level = models.SmallIntegerField(default=0)
    reason = models.CharField(max_length=500, blank=True)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "alert_levels"
        constraints = [
            models.CheckConstraint(condition=models.Q(level__gte=0, level__lte=3), name="alert_levels_level")
        ]

    def __str__(self) -> str:
        return str(self.level)


class AlertWebhook(models.Model):
    """That another system may set a tenant's alert level, by messages that it signs."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.OneToOneField(Tenant, on_delete=models.CASCADE, related_name="+")
    secret = models.TextField(help_text="What messages are signed with, encrypted.")
    last_id = models.CharField(max_length=255, blank=True, help_text="Of the last message that was accepted.")
    last_sent = models.BigIntegerField(null=True, blank=True, help_text="Its time, in seconds since 1970.")
    created_at = models.DateTimeField(db_default=Now(), help_text="When the secret was made.")

    class Meta:
        db_table = "alert_webhooks"

    def __str__(self) -> str:
        return str(self.tenant_id)
