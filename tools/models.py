"""What a tenant lets its people's models call, and the rows that the built-in tools keep."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import RandomUUID
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now

from tenants.models import Role, Tenant, User
from tools.files.models import File as File
from tools.files.models import FileBlob as FileBlob
from tools.files.models import FileTotal as FileTotal
from tools.files.models import FileVersion as FileVersion
from tools.files.models import FileWorkspace as FileWorkspace
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
    approval_seconds = models.PositiveIntegerField(
        default=86_400,
        validators=[MinValueValidator(60), MaxValueValidator(31_536_000)],
        help_text="How many seconds an Elevated call waits before it expires.",
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
    # The text search configuration that `terms`, a column made by the database, has the note's words in.
    language = models.CharField(max_length=16, default="english", db_default="english")
    taint = ArrayField(models.TextField(), default=list, db_default=[], help_text="What its writers had read.")
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
    taint = ArrayField(models.TextField(), default=list, db_default=[], help_text="What its writers had read.")
    created_at = models.DateTimeField(db_default=Now())
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "tasks"
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["tenant", "user", "-created_at"], name="tasks_recent")]

    def __str__(self) -> str:
        return self.title


class Memory(models.Model):
    """What models are to know in later conversations: of one user, of them with one agent, or of a whole tenant, and
    then of no `user`. `author` is whose call stored it, and `taint` what that call's conversation had read."""

    class Scope(models.TextChoices):
        """To whom it is given."""

        USER = "user"
        AGENT = "agent"
        TENANT = "tenant"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="+")
    author = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    scope = models.CharField(max_length=8, choices=Scope.choices)
    agent = models.TextField(blank=True, default="", db_default="", help_text="The slug, where it is of one agent.")
    content = models.TextField()
    tags = ArrayField(models.TextField(), default=list, blank=True)
    # The text search configuration that `terms`, a column made by the database, has its words in.
    language = models.CharField(max_length=16, default="english", db_default="english")
    taint = ArrayField(models.TextField(), default=list, blank=True)
    source_call_id = models.UUIDField(help_text="The call that stored it.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "memories"
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["tenant", "user", "-created_at"], name="memories_recent")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(scope="tenant", user__isnull=True)
                | (models.Q(scope__in=["user", "agent"]) & models.Q(user__isnull=False)),
                name="memories_scope",
            )
        ]

    def __str__(self) -> str:
        return self.content[:80]


class Embedding(models.Model):
    """The vector of one note or memory, made in the background; it goes with it.

    `model` says which model made the vector, whose it was and how many numbers it has; empty with no `vector`. It is
    due at `next_at`, and not at all without. `revision` counts the changes of the words; `user` is empty for what a
    whole tenant is given.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, db_default=RandomUUID(), editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="+", db_index=False)
    author = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    # The migration ties these with (tenant_id, x_id) keys, which Django has no word for; with them the row goes.
    note = models.ForeignKey(
        Note, on_delete=models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    memory = models.ForeignKey(
        Memory, on_delete=models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    model = models.TextField(db_default="")
    vector = ArrayField(models.FloatField(), null=True)
    revision = models.IntegerField(db_default=1)
    tries = models.IntegerField(db_default=0)
    next_at = models.DateTimeField(null=True, db_default=Now())

    class Meta:
        db_table = "embeddings"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "note"], name="embeddings_of_note"),
            models.UniqueConstraint(fields=["tenant", "memory"], name="embeddings_of_memory"),
            models.CheckConstraint(
                condition=models.Q(note__isnull=False, memory__isnull=True)
                | models.Q(note__isnull=True, memory__isnull=False),
                name="embeddings_of_one",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "user"], name="embeddings_of_user"),
            models.Index(
                fields=["tenant", "author", "next_at"],
                name="embeddings_due",
                condition=models.Q(next_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.note_id or self.memory_id} by {self.model or 'nobody yet'}"


class CanvasVersion(models.Model):
    """What a conversation's canvas showed, from one call to the next; `call_id` is the call that drew it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    # A conversation's row is of a package above; its migration makes the foreign key.
    conversation_id = models.UUIDField()
    version = models.IntegerField()
    title = models.TextField()
    html = models.TextField()
    css = models.TextField(blank=True, default="")
    js = models.TextField(blank=True, default="")
    call_id = models.UUIDField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "canvas_versions"
        ordering = ["-version"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "conversation_id", "version"], name="canvas_versions_number")
        ]

    def __str__(self) -> str:
        return f"{self.title} {self.version}"


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
