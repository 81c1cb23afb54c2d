"""The rows of schedules and of their slots."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.models import Tenant, User


class Schedule(models.Model):
    """What a person has Toolgate ask again and again, and when; `next_at` is empty while it is paused."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    agent = models.ForeignKey(
        "gateway.Agent", on_delete=models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False,
        help_text="Empty: the tenant's default agent of the moment.",
    )  # fmt: skip
    cron = models.TextField(help_text="Five fields: minute, hour, day of the month, month, day of the week.")
    tz = models.TextField(help_text='Whose hours and days the fields mean, such as "Europe/Berlin".')
    content = models.TextField(help_text="What the agent is asked.")
    enabled = models.BooleanField(db_default=True)
    paused_because = models.TextField(db_default="", help_text="Why it is paused, when Toolgate paused it.")
    next_at = models.DateTimeField(null=True)
    call_id = models.UUIDField(null=True, help_text="The tool call that made it; empty: a person did.")
    conversation_id = models.UUIDField(null=True, help_text="The conversation in which that call was made.")
    taint = ArrayField(
        models.TextField(), db_default=[], help_text="What the conversation had read in which it was made or changed."
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "schedules"
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(condition=Q(enabled=True) | Q(next_at=None), name="schedules_paused_have_no_next")
        ]
        indexes = [
            models.Index(fields=["tenant", "user", "-created_at"], name="schedules_of_user"),
            models.Index(fields=["next_at"], condition=Q(enabled=True), name="schedules_due"),
        ]

    def __str__(self) -> str:
        return f"{self.cron} {self.tz}"


class ScheduleSlot(models.Model):
    """A time at which a schedule was due or somebody began it by hand; written once, with its run."""

    class Cause(models.TextChoices):
        """Why there is a slot."""

        TIME = "time", "On time"
        RUN_NOW = "run_now", "By hand"

    class Status(models.TextChoices):
        """What came of it; only the first has a run."""

        BEGUN = "begun", "Begun"
        SKIPPED = "skipped", "Skipped"
        REFUSED = "refused", "Refused"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    schedule = models.ForeignKey(
        Schedule, on_delete=models.CASCADE, related_name="slots", db_constraint=False, db_index=False
    )
    slot_at = models.DateTimeField()
    cause = models.TextField(choices=Cause.choices)
    status = models.TextField(choices=Status.choices)
    code = models.TextField(null=True, help_text="Why it was skipped or refused.")
    message = models.TextField(null=True)
    run = models.ForeignKey(
        "gateway.Run", on_delete=models.SET_NULL, null=True, related_name="+", db_constraint=False, db_index=False
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "schedule_slots"
        ordering = ["-slot_at"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "schedule", "slot_at"], name="schedule_slots_once"),
            models.CheckConstraint(
                condition=Q(status="begun", code=None)
                | Q(status__in=["skipped", "refused"], run=None, code__isnull=False),
                name="schedule_slots_run_or_reason",
            ),
        ]
        indexes = [
            models.Index(fields=["created_at"], name="schedule_slots_age"),
            models.Index(fields=["tenant", "run"], name="schedule_slots_run"),
        ]

    def __str__(self) -> str:
        return f"{self.slot_at} {self.status}"
