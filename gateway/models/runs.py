"""Runs and their turns; written by `gateway.runs.repository` and by SQL functions alone."""

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from gateway.models.agents import Agent
from gateway.models.conversations import Conversation, Kind
from tenants.models import TIED, Tenant, User
from tenants.scope.jsonb import JSONField


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
