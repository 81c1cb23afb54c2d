"""Agents, conversations, and the runs that answer them."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from gateway.budgets.models import Budget as Budget
from gateway.budgets.models import BudgetWindow as BudgetWindow
from gateway.budgets.models import TurnReservation as TurnReservation
from gateway.budgets.models import TurnUsage as TurnUsage
from gateway.providers.routing.models import ModelProvider as ModelProvider
from gateway.providers.routing.models import ModelSettings as ModelSettings
from gateway.schedules.models import Schedule as Schedule
from gateway.schedules.models import ScheduleSlot as ScheduleSlot
from tenants.models import Tenant, User
from tenants.scope.jsonb import JSONField
from tools.models import TIERS

# The migration ties these with (tenant_id, x_id) keys, which Django has no word for, and indexes them by tenant. Tenant
# and user of what is tied to a conversation are its own.
TIED: dict[str, Any] = {"db_constraint": False, "db_index": False}


class Agent(models.Model):
    """A named profile: instructions, model, the tools it may use, and its budgets."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    slug = models.SlugField()
    name = models.CharField(max_length=200)
    instructions = models.TextField(blank=True)
    model = models.CharField(max_length=200, blank=True, help_text="provider/model; empty: DEFAULT_MODEL.")
    tools = JSONField(
        default=list, blank=True, help_text='"all", or a list of names; "..." stands for the tenant\'s default tools.'
    )
    is_default = models.BooleanField(default=False)
    max_tier = models.CharField(
        max_length=16, choices=TIERS, blank=True, help_text="The highest tier of tools that it may use; empty: any."
    )
    on_refused_approval = models.CharField(
        max_length=8,
        choices=[("tell", "Tell the model"), ("halt", "End the run")],
        default="tell",
        help_text="What follows when an approval is denied or expires.",
    )
    on_disconnect = models.CharField(
        max_length=8,
        choices=[("continue", "Go on"), ("cancel", "Cancel the run")],
        default="continue",
        help_text="What follows when a client of /v1 hangs up.",
    )
    max_turns = models.PositiveSmallIntegerField(default=8)
    max_seconds = models.PositiveSmallIntegerField(default=120)
    max_run_tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Tokens of one run and of all that it begins, in and out; empty: no limit.",
    )
    max_run_usd = models.DecimalField(
        max_digits=21,
        decimal_places=6,
        null=True,
        blank=True,
        help_text="US dollars of one run and of all that it begins; empty: no limit.",
    )
    tool_seconds = models.PositiveSmallIntegerField(default=30)
    max_result_bytes = models.PositiveIntegerField(default=16_384)
    max_offered_tools = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="With more tools than this, its model finds them with tools_search; empty: the operator's number.",
    )
    pinned_tools = JSONField(
        default=list, blank=True, help_text='What its model is shown of them all the same: names, "service.*".'
    )
    version = models.PositiveIntegerField(
        default=1, db_default=1, editable=False, help_text="Of what is said here: each change raises it."
    )
    archived_at = models.DateTimeField(
        null=True, editable=False, help_text="Since when nothing begins with it any more; its slug stays taken."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "agents"
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "slug"], name="agents_tenant_slug"),
            models.UniqueConstraint(fields=["tenant"], condition=Q(is_default=True), name="agents_one_default"),
            models.CheckConstraint(
                condition=Q(is_default=False) | Q(archived_at=None), name="agents_default_is_not_archived"
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def archived(self) -> bool:
        """Whether nothing begins with it any more."""
        return self.archived_at is not None


class AgentVersion(models.Model):
    """An agent as somebody left it: `values` are all of its fields, `number` is the agent's `version` of then.

    Written with the change itself, by `gateway.runs.agents.versions` alone, and never changed.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="versions", **TIED)
    number = models.PositiveIntegerField()
    values = JSONField()
    restored = models.PositiveIntegerField(null=True, help_text="The version that was restored, if one was.")
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    via = models.TextField(help_text="page, api, admin, command or toolgate.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "agent_versions"
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["tenant", "agent", "number"], name="agent_versions_number")]

    def __str__(self) -> str:
        return f"{self.agent_id} as of version {self.number}"


class Kind(models.TextChoices):
    """A session's place in a tree: a person talks to it, it was forked from another, or another run began it."""

    MAIN = "main"
    BRANCH = "branch"
    WORKER = "worker"


class Conversation(models.Model):
    """A user's thread of messages; seen by that user only."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    title = models.CharField(max_length=200, blank=True)
    kind = models.TextField(
        choices=Kind.choices, db_default="main", help_text="For people; what a run may do is in its profile."
    )
    parent_id = models.UUIDField(
        null=True, help_text="The conversation that it was branched from, or of its parent run."
    )
    branched_at = models.UUIDField(null=True, help_text="The last run of the parent that a branch goes on from.")
    labels = ArrayField(models.TextField(), default=list, db_default=[])
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "conversations"
        ordering = ["-updated_at"]
        indexes = [models.Index(fields=["tenant", "user", "-updated_at"], name="conversations_recent")]

    def __str__(self) -> str:
        return self.title or str(self.id)


class Run(models.Model):
    """One chat request, from its first turn to its end; written by `gateway.runs.repository` alone."""

    class Status(models.TextChoices):
        """The last four are final; to clients one that is waiting for its children is in progress."""

        IN_PROGRESS = "in_progress"
        WAITING = "waiting"
        REQUIRES_ACTION = "requires_action"
        COMPLETED = "completed"
        INCOMPLETE = "incomplete"
        FAILED = "failed"
        CANCELLED = "cancelled"

    OPEN = ("in_progress", "waiting", "requires_action")
    FINAL = ("completed", "incomplete", "failed", "cancelled")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", **TIED)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", **TIED)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="runs", **TIED)
    message_id = models.UUIDField(help_text="The assistant's message that this run writes.")
    agent = models.ForeignKey(Agent, on_delete=models.SET_NULL, null=True, related_name="+", **TIED)
    profile = JSONField(help_text="The agent's instructions, tools and budgets when the run began.")
    model = models.TextField()
    surface = models.TextField(db_default="", help_text="The compatible API that it came in over; empty: our own.")
    status = models.TextField(choices=Status.choices, db_default="in_progress")
    incomplete_reason = models.TextField(null=True)
    error_code = models.TextField(null=True)
    error_message = models.TextField(null=True)
    error_status = models.IntegerField(null=True, help_text="The HTTP status that the client was or will be answered.")
    input_tokens = models.BigIntegerField(db_default=0)
    output_tokens = models.BigIntegerField(db_default=0)
    estimated_tokens = models.BigIntegerField(
        db_default=0, help_text="What was reserved for askings of which nobody knows what they used."
    )
    cost = models.DecimalField(
        max_digits=40,
        decimal_places=18,
        db_default=0,
        help_text="US dollars of its askings, as far as there are prices, and of those that are estimated.",
    )
    turns = models.IntegerField(db_default=0, help_text="Turns that the model has answered.")
    fence = models.IntegerField(db_default=1)
    lease_until = models.DateTimeField(null=True)
    spent_ms = models.BigIntegerField(db_default=0, help_text="Active time before `resumed_at`.")
    resumed_at = models.DateTimeField(null=True, help_text="Since when the clock runs; empty while it stands still.")
    idempotency_key = models.TextField(null=True)
    request_hash = models.BinaryField(null=True)
    key_id = models.UUIDField(null=True, help_text="The key that it was begun with; empty: a session.")
    budgeted = models.BooleanField(
        db_default=False, help_text="Whether its turns are reserved: of budgets, or of its own tokens or money."
    )
    parent_run_id = models.UUIDField(null=True, help_text="The run whose call began it; empty: nobody's.")
    parent_call_id = models.UUIDField(null=True, help_text="The call that waits for it.")
    root_run_id = models.UUIDField(null=True, help_text="The first run of its tree; empty: it is that one.")
    depth = models.SmallIntegerField(db_default=0)
    kind = models.TextField(choices=Kind.choices, db_default="main")
    open_calls = models.IntegerField(
        null=True, help_text="How many calls of its turn were open when it was parked to wait for children."
    )
    unnoted = models.BooleanField(
        db_default=False, help_text="Whether it is over, and the run above it has yet to take note of that."
    )
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "runs"
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "user", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="runs_idempotency_key",
            ),
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(status__in=["in_progress", "waiting", "requires_action"], surface=""),
                name="runs_one_open",
            ),
            # Without the others' empty columns, in which the planner would look for any run of a young table.
            models.UniqueConstraint(
                fields=["tenant", "parent_call_id"], condition=Q(parent_call_id__isnull=False), name="runs_of_call"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "conversation", "created_at"], name="runs_of_conversation"),
            # For the sweeper alone. `finished_at` keeps transitions from looking for their run among all that are held.
            models.Index(
                fields=["lease_until"], condition=Q(status="in_progress", finished_at=None), name="runs_leases"
            ),
            models.Index(fields=["parent_run_id"], condition=Q(parent_run_id__isnull=False), name="runs_children"),
            models.Index(fields=["root_run_id"], condition=Q(root_run_id__isnull=False), name="runs_tree"),
            models.Index(fields=["parent_run_id"], condition=Q(unnoted=True), name="runs_unnoted"),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.status}"


class Message(models.Model):
    """What the user said, or the run's final answer; seen by that user only."""

    class Author(models.TextChoices):
        """Who speaks."""

        USER = "user"
        ASSISTANT = "assistant"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", **TIED)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", **TIED)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages", **TIED)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="messages", **TIED)
    role = models.TextField(choices=Author.choices)
    content = models.TextField()
    attachments = JSONField(
        default=list,
        db_default=[],
        help_text="Versions of files: file_id, path, version, media_type, size, sha256.",
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "messages"
        ordering = ["created_at"]
        indexes = [
            models.Index(fields=["tenant", "conversation", "created_at"], name="messages_of_conversation"),
            models.Index(fields=["tenant", "user", "-created_at"], name="messages_latest"),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.content[:40]}"


class Turn(models.Model):
    """One answer of the model within a run; its tool calls are rows of `tool_calls` with the same number."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", **TIED)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", **TIED)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="answered_turns", **TIED)
    number = models.IntegerField()
    attempt = models.IntegerField(help_text="Which asking of this turn was answered; grows with every asking anew.")
    text = models.TextField()
    calls = models.IntegerField(db_default=0)
    finish_reason = models.TextField()
    input_tokens = models.BigIntegerField(db_default=0)
    output_tokens = models.BigIntegerField(db_default=0)
    latency_ms = models.IntegerField(db_default=0)
    more = models.TextField(null=True, help_text="What it holds beside text and managed calls, as JSON.")
    suspensions = models.IntegerField(db_default=0, help_text="How often the run waited for a human in this turn.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "turns"
        ordering = ["run", "number"]
        constraints = [models.UniqueConstraint(fields=["tenant", "run", "number"], name="turns_run_number")]

    def __str__(self) -> str:
        return f"turn {self.number} of {self.run_id}"


class RunRequest(models.Model):
    """What a client asked over a compatible API, whole: nobody else has its transcript; seen by that user only."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="+", **TIED)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", **TIED)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", **TIED)
    request = models.TextField(help_text="gateway.runs.prompting.serialization writes and reads it.")

    class Meta:
        db_table = "run_requests"

    def __str__(self) -> str:
        return str(self.run_id)


class Continuation(models.Model):
    """Leads from a transcript, as its client sees it up to an answer of the model's, to the run that made the answer.

    `digest` covers every message up to that answer. A personal table: nobody's transcript leads to another's run.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", **TIED)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", **TIED)
    digest = models.BinaryField()
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+", **TIED)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "continuations"
        constraints = [models.UniqueConstraint(fields=["tenant", "user", "digest"], name="continuations_digest")]
        indexes = [
            models.Index(fields=["created_at"], name="continuations_age"),
            models.Index(fields=["tenant", "run"], name="continuations_run"),
        ]

    def __str__(self) -> str:
        return str(self.run_id)
