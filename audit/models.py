"""The audit log's tables. Only `audit.recorder` writes them."""

import uuid

from django.db import models

from tenants.models import Tenant, User


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


class ToolCall(models.Model):
    """One call that a model made of the gateway, whatever came of it.

    Partitioned by range of its UUIDv7 `id`; nothing has a foreign key into it, and it outlives the
    conversation, run and message that it names.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    conversation_id = models.UUIDField()
    message_id = models.UUIDField()
    run_id = models.UUIDField()
    turn = models.IntegerField(help_text="The run's turn that made the call, from 1.")
    position = models.IntegerField(help_text="The call's place among its turn's calls, from 0.")
    tool_name = models.TextField()
    tier = models.TextField(null=True, help_text="Empty when no such tool exists.")
    input = models.JSONField(null=True)
    input_raw = models.TextField(null=True, help_text="What the model sent, when it was not valid JSON.")
    output = models.JSONField(null=True)
    output_bytes = models.IntegerField(null=True, help_text="Size of the whole output as JSON.")
    display = models.TextField(default="")
    status = models.TextField(choices=Status.choices, default=Status.PROPOSED)
    error_code = models.TextField(null=True, choices=ErrorCode.choices)
    error_message = models.TextField(null=True)
    error_field = models.TextField(null=True)
    decision = models.JSONField(default=list, help_text="Each gate's answer, in order.")
    approval_id = models.UUIDField(null=True, help_text="The approval request that it waited for.")
    approved_input = models.JSONField(null=True, help_text="What ran, where an approver had edited the arguments.")
    approved_params_hash = models.TextField(null=True)
    resumed_decision = models.JSONField(null=True, help_text="Each gate's answer when it went on after an approval.")
    side_effects = models.JSONField(default=list, help_text="What the call made or changed: kind, id, action.")
    params_hash = models.TextField(null=True)
    output_hash = models.TextField(null=True)
    row_key = models.BinaryField(null=True, help_text="The key of the ledger's commitments; erased with the payload.")
    attempt = models.IntegerField(default=0)
    fence = models.IntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
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


class LedgerEntry(models.Model):
    """One append-only statement about a call: it was proposed, decided or settled.

    `commitment` is an HMAC-SHA-256 over the canonical payload (see `audit.ledger`), never the payload.
    """

    class Kind(models.TextChoices):
        """What the entry states."""

        PROPOSED = "proposed"
        DECIDED = "decided"
        SETTLED = "settled"

    seq = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    call_id = models.UUIDField()
    kind = models.TextField(choices=Kind.choices)
    version = models.SmallIntegerField()
    commitment = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "ledger_entries"
        ordering = ["seq"]
        verbose_name_plural = "ledger entries"
        indexes = [models.Index(fields=["tenant", "call_id"], name="ledger_entries_call")]

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.call_id}"
