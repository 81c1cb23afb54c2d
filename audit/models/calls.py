"""Tool calls, what conversations have read, and how many calls ended in each hour."""

import uuid
from typing import Any

from django.db import models

from tenants.models import Tenant, User
from tenants.scope.jsonb import JSONField

# Of rows that are written with each call: a foreign key would lock the tenant's row each time. Another table's foreign
# key, or a trigger, keeps the tenants and users that they name from being deleted.
UNCONSTRAINED: dict[str, Any] = {"db_constraint": False}


class Status(models.TextChoices):
    """A call's state; only the last two are final, and final never changes."""

    PROPOSED = "proposed"
    AWAITING_APPROVAL = "awaiting_approval"
    QUEUED = "queued"
    CLAIMED = "claimed"
    RUNNING = "running"
    SUCCESS = "success"
    ERROR = "error"


FINAL = frozenset({Status.SUCCESS, Status.ERROR})


class Origin(models.TextChoices):
    """How a call came in; only a chat's has a conversation, a message, a run and a turn."""

    CHAT = "chat"
    API = "api"
    MCP = "mcp"
    SCHEDULE = "schedule"
    NATIVE = "native"


class ErrorCode(models.TextChoices):
    """Why a call failed or was refused."""

    NOT_ALLOWED = "not_allowed"
    VALIDATION_ERROR = "validation_error"
    PERMISSION_DENIED = "permission_denied"
    POLICY_DENIED = "policy_denied"
    RATE_LIMITED = "rate_limited"
    APPROVAL_DENIED = "approval_denied"
    APPROVAL_EXPIRED = "approval_expired"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    EXECUTION_ERROR = "execution_error"
    UNAVAILABLE = "unavailable"
    OUTCOME_UNKNOWN = "outcome_unknown"
    KILLED = "killed"


class ToolCall(models.Model):
    """One call that was made of the gateway, by a model in a chat or without one, whatever came of it.

    Partitioned by range of its UUIDv7 `id`; nothing has a foreign key into it, and it outlives the
    conversation, run and message that it names.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", **UNCONSTRAINED)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", **UNCONSTRAINED)
    origin = models.TextField(choices=Origin.choices, default=Origin.CHAT, db_default=Origin.CHAT)
    conversation_id = models.UUIDField(null=True)
    message_id = models.UUIDField(null=True)
    run_id = models.UUIDField(null=True, help_text="Empty for a call without a chat.")
    turn = models.IntegerField(null=True, help_text="The run's turn that made the call, from 1.")
    agent = models.TextField(null=True, help_text="The slug of the run's agent when the call was made.")
    model = models.TextField(null=True, help_text="The model that made the call, as provider/model.")
    position = models.IntegerField(help_text="The call's place among its turn's calls, from 0.")
    tool_name = models.TextField()
    tier = models.TextField(null=True, help_text="Empty when no such tool exists.")
    input = JSONField(null=True)
    input_raw = models.TextField(null=True, help_text="What the model sent, when it was not valid JSON.")
    output = JSONField(null=True)
    output_bytes = models.IntegerField(null=True, help_text="Size of the whole output as JSON.")
    display = models.TextField(default="")
    status = models.TextField(choices=Status.choices, default=Status.PROPOSED)
    error_code = models.TextField(null=True, choices=ErrorCode.choices)
    error_message = models.TextField(null=True)
    error_field = models.TextField(null=True)
    decision = JSONField(default=list, help_text="Each gate's answer, in order.")
    approval_id = models.UUIDField(null=True, help_text="The approval request that it waited for.")
    approved_input = JSONField(null=True, help_text="What ran, where an approver had edited the arguments.")
    approved_params_hash = models.TextField(null=True)
    resumed_decision = JSONField(null=True, help_text="Each gate's answer when it went on after an approval.")
    side_effects = JSONField(default=list, help_text="What the call made or changed: kind, id, action.")
    params_hash = models.TextField(null=True)
    output_hash = models.TextField(null=True)
    row_key = models.BinaryField(null=True, help_text="The key of the ledger's commitments; erased with the payload.")
    attempt = models.IntegerField(default=0)
    fence = models.IntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    waits_on_run = models.UUIDField(null=True, help_text="The child run that it began, whose end is its own.")
    time_limit_ms = models.IntegerField(default=30_000, help_text="What all its attempts together may take.")
    execution_time_ms = models.IntegerField(null=True)
    created_at = models.DateTimeField()
    queued_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "tool_calls"
        ordering = ["-id"]
        verbose_name = "tool call"

    def __str__(self) -> str:
        return f"{ascii(self.tool_name)[1:-1]} {self.status}"


class TaintSource(models.Model):
    """That a conversation has read private data, or what strangers wrote, and from where: rows are only added.

    They go with the conversation.
    """

    class Label(models.TextChoices):
        """What was read."""

        PRIVATE = "private"
        UNTRUSTED = "untrusted"

    pk = models.CompositePrimaryKey("tenant_id", "conversation_id", "label", "source")
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False, **UNCONSTRAINED)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False, **UNCONSTRAINED)
    # A migration of the package that has conversations makes the key with the tenant in it.
    conversation_id = models.UUIDField()
    label = models.TextField(choices=Label.choices)
    source = models.TextField(help_text="The tool whose answer it was, or what else was read.")
    run_id = models.UUIDField(null=True, help_text="The run that read it last.")
    call_id = models.UUIDField(null=True, help_text="The newest call whose answer it was; empty for what was no call.")
    read_at = models.DateTimeField(help_text="When it was read last.")

    class Meta:
        db_table = "taint_sources"

    def __str__(self) -> str:
        return f"{self.label} {self.source}"


class CallCount(models.Model):
    """How many calls of a tool ended in an hour, and how long they took; without a user, of the whole tenant.

    The sealer counts each call once, when it seals that the call has settled.
    """

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user_id = models.UUIDField(null=True)
    hour = models.DateTimeField()
    tool_name = models.TextField(help_text="Empty for names that are no tool's.")
    calls = models.BigIntegerField(default=0)
    succeeded = models.BigIntegerField(default=0)
    refused = models.BigIntegerField(default=0, help_text="Ended before they ran.")
    failed = models.BigIntegerField(default=0)
    timed = models.BigIntegerField(default=0, help_text="Calls that have a time.")
    total_ms = models.BigIntegerField(default=0)
    ms_10 = models.BigIntegerField(default=0, help_text="Calls of at most 10 ms, and so on.")
    ms_30 = models.BigIntegerField(default=0)
    ms_100 = models.BigIntegerField(default=0)
    ms_300 = models.BigIntegerField(default=0)
    ms_1000 = models.BigIntegerField(default=0)
    ms_3000 = models.BigIntegerField(default=0)
    ms_10000 = models.BigIntegerField(default=0)
    ms_30000 = models.BigIntegerField(default=0)
    ms_more = models.BigIntegerField(default=0)

    class Meta:
        db_table = "tool_call_counts"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "user_id", "hour", "tool_name"],
                nulls_distinct=False,
                name="tool_call_counts_hour",
            )
        ]

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H} {self.tool_name}"
