"""The audit log's tables. Only `audit.calls.recorder` and `audit.calls.begun` write them."""

import uuid
from typing import Any

from django.db import models
from django.db.models.functions import Now

from audit.identifiers import uuid7
from tenants.models import Tenant, User
from tenants.scope.jsonb import JSONField


class Status(models.TextChoices):
    """A call's state; only the last two are final, and final never changes."""

    PROPOSED = "proposed"
    AWAITING_APPROVAL = "awaiting_approval"
    QUEUED = "queued"
    CLAIMED = "claimed"
    RUNNING = "running"
    SUCCESS = "success"
    ERROR = "error"


class Origin(models.TextChoices):
    """How a call came in; only a chat's has a conversation, a message, a run and a turn."""

    CHAT = "chat"
    API = "api"
    MCP = "mcp"
    SCHEDULE = "schedule"
    NATIVE = "native"


SEALED = models.Q(leaf_index__isnull=False)
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
    KILLED = "killed"


# Written with each call: a foreign key would lock the tenant's row each time. What these rows are tied to has one, or a
# trigger keeps tenants and users that are named.
KEPT: dict[str, Any] = {"db_constraint": False}


class ToolCall(models.Model):
    """One call that was made of the gateway, by a model in a chat or without one, whatever came of it.

    Partitioned by range of its UUIDv7 `id`; nothing has a foreign key into it, and it outlives the
    conversation, run and message that it names.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", **KEPT)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", **KEPT)
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
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False, **KEPT)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False, **KEPT)
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


class LedgerEntry(models.Model):
    """One append-only statement: of a call, of its erasure, of a reading, or of a setting that was changed.

    `commitment` is an HMAC-SHA-256 over the canonical payload (see `audit.calls.ledger`), never the payload.
    """

    class Kind(models.TextChoices):
        """What the entry states."""

        PROPOSED = "proposed"
        DECIDED = "decided"
        ANSWERED = "answered"
        SETTLED = "settled"
        REPORTED = "reported"
        ERASED = "erased"
        DROPPED = "dropped"
        READ = "read"
        CHANGED = "changed"

    seq = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False, **KEPT)
    call_id = models.UUIDField(null=True)
    record_id = models.UUIDField(
        null=True, help_text="The decision, erasure, reading or change that it is about, in a table of its own."
    )
    kind = models.TextField(choices=Kind.choices)
    version = models.SmallIntegerField()
    commitment = models.BinaryField()
    created_at = models.DateTimeField(db_default=Now())
    leaf_index = models.BigIntegerField(null=True, help_text="Its place in the log, once sealed.")
    tenant_index = models.BigIntegerField(null=True, help_text="Its place among the tenant's sealed entries.")

    class Meta:
        db_table = "ledger_entries"
        ordering = ["seq"]
        verbose_name_plural = "ledger entries"
        indexes = [
            models.Index(fields=["tenant", "call_id"], name="ledger_entries_call"),
            models.Index(fields=["seq"], condition=models.Q(leaf_index__isnull=True), name="ledger_entries_unsealed"),
            models.Index(fields=["record_id"], condition=models.Q(kind="changed"), name="ledger_entries_changed"),
        ]
        # Over sealed entries only, so that writing an entry does not maintain it.
        constraints = [
            models.UniqueConstraint(fields=["leaf_index"], condition=SEALED, name="ledger_entries_leaf"),
            models.UniqueConstraint(
                fields=["tenant", "tenant_index"], condition=SEALED, name="ledger_entries_of_tenant"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.call_id or self.record_id}"


class LedgerTile(models.Model):
    """Up to 256 neighbouring hashes of the Merkle tree: leaves at level 0, above them the roots of full tiles."""

    pk = models.CompositePrimaryKey("level", "index")
    level = models.SmallIntegerField()
    index = models.BigIntegerField()
    hashes = models.BinaryField(help_text="32 bytes each; a level's last tile grows to 256 of them.")

    class Meta:
        db_table = "ledger_tiles"

    def __str__(self) -> str:
        return f"{self.level}/{self.index}"


class Checkpoint(models.Model):
    """A signed head of the log: how many entries it had, and the root over them."""

    origin = models.TextField(help_text="The log's name, which is also the name of the key.")
    size = models.BigIntegerField()
    root = models.BinaryField()
    note = models.TextField(help_text="A C2SP signed note.")
    created_at = models.DateTimeField(db_default=Now())
    witnessed_at = models.DateTimeField(null=True, help_text="When the witness took it.")

    class Meta:
        db_table = "ledger_checkpoints"
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["origin", "size"], name="ledger_checkpoints_once")]
        indexes = [
            models.Index(fields=["size"], name="ledger_checkpoints_size"),
            models.Index(
                fields=["id"], condition=models.Q(witnessed_at__isnull=True), name="ledger_checkpoints_unseen"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.origin} {self.size}"


class LedgerKey(models.Model):
    """A public key that checkpoints are signed with; the newest signs."""

    vkey = models.TextField(unique=True, help_text="As a C2SP verifier key: name+id+key.")
    origin = models.TextField()
    endorsement = models.TextField(null=True, help_text="A note about it, signed with the key before it.")
    reason = models.TextField(default="", help_text="Why a new log was begun with it.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ledger_keys"
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.vkey


class Erasure(models.Model):
    """That payloads were erased: of a call, a conversation, a user, by retention, or of a month as a whole."""

    class Scope(models.TextChoices):
        """How much of the tenant's history it was about."""

        CALL = "call"
        CONVERSATION = "conversation"
        USER = "user"
        RETENTION = "retention"
        MONTH = "month"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    scope = models.TextField(choices=Scope.choices)
    subject_id = models.UUIDField(null=True, help_text="The call, conversation or user; empty for retention.")
    low = models.UUIDField(null=True, help_text="The first id of the month.")
    high = models.UUIDField(null=True, help_text="The first id after the month.")
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    reason = models.TextField(default="")
    calls = models.BigIntegerField(default=0)
    row_key = models.BinaryField(help_text="The key of its entries' commitments.")
    created_at = models.DateTimeField()

    class Meta:
        db_table = "erasures"
        ordering = ["-id"]
        indexes = [models.Index(fields=["tenant", "-id"], name="erasures_of_tenant")]

    def __str__(self) -> str:
        return f"{self.scope} {self.subject_id or ''}".strip()


class HistoryRead(models.Model):
    """That somebody looked at or exported calls made in other people's names."""

    class Action(models.TextChoices):
        """What was looked at."""

        LIST = "list"
        DETAIL = "detail"
        RECEIPT = "receipt"
        RUN = "run"
        CHARTS = "charts"
        EXPORT = "export"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    reader = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    user_id = models.UUIDField(null=True, help_text="Whose calls, where it was one person's.")
    call_id = models.UUIDField(null=True)
    action = models.TextField(choices=Action.choices)
    via = models.TextField(help_text="page, api, admin or command.")
    filters = JSONField(default=dict)
    calls = models.BigIntegerField(default=0, help_text="How many calls were shown.")
    row_key = models.BinaryField(help_text="The key of its entry's commitment.")
    created_at = models.DateTimeField()

    class Meta:
        db_table = "history_reads"
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["tenant", "-id"], name="history_reads_of_tenant"),
            models.Index(fields=["tenant", "user_id", "-id"], name="history_reads_of_user"),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.reader_id}"


class SettingChange(models.Model):
    """That somebody created, changed or deleted a setting of the tenant; never changed itself.

    It names people by id alone, and no secret.
    """

    class Action(models.TextChoices):
        """What became of the setting."""

        CREATED = "created"
        CHANGED = "changed"
        DELETED = "deleted"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    via = models.TextField(help_text="page, api, admin, command, webhook or toolgate.")
    target = models.TextField(help_text="The kind of setting, such as service, approval_rule or agent.")
    target_id = models.UUIDField(null=True, help_text="The setting's id; of a member the person's.")
    name = models.TextField(help_text="What the setting was called.")
    action = models.TextField(choices=Action.choices)
    changes = JSONField(default=dict, help_text="By field: [before, after].")
    row_key = models.BinaryField(help_text="The key of its entry's commitment.")
    created_at = models.DateTimeField()

    class Meta:
        db_table = "setting_changes"
        ordering = ["-id"]
        indexes = [models.Index(fields=["tenant", "-id"], name="setting_changes_of_tenant")]

    def __str__(self) -> str:
        return f"{self.target} {self.name} {self.action}"


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
