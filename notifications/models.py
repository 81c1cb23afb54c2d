"""The targets that a tenant chose for events, and what has to be delivered to them."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.models import Tenant, User


class NotificationTarget(models.Model):
    """Where events of a tenant go over one channel; switched off, never deleted, so that what was sent is explained."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    channel = models.TextField(help_text="Its name in notifications.channels.registry.")
    name = models.CharField(max_length=200, blank=True, help_text="What you call it; it may be empty.")
    destination = models.CharField(max_length=2048, help_text="What may be shown of where it leads.")
    secret = models.TextField(editable=False, blank=True, help_text="What its channel keeps secret, encrypted.")
    events = ArrayField(models.TextField(), help_text="The events that it gets.")
    enabled = models.BooleanField(default=True)
    disabled_because = models.TextField(blank=True, default="", editable=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "notification_targets"
        ordering = ["tenant", "created_at"]
        indexes = [models.Index(fields=["tenant", "enabled"], name="notification_targets_enabled")]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "destination"],
                condition=Q(channel="email"),
                name="notification_targets_email",
                violation_error_message="The tenant has a target for this already: change that one.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.channel}: {self.name or self.destination}"


class Notification(models.Model):
    """One event for one target, or for one member that the target stands for; written in the event's transaction."""

    class Status(models.TextChoices):
        """The last two are final."""

        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user_id = models.UUIDField(help_text="Whose request or run it is.")
    event = models.TextField()
    subject_id = models.UUIDField(help_text="The request or run.")
    payload = models.TextField(help_text="What channels may send, as JSON; its fields keep their order.")
    channel = models.TextField()
    # The migration makes the keys of these two with the tenant in them; no target is the tenant's default e-mail.
    target = models.ForeignKey(
        NotificationTarget, on_delete=models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )
    recipient = models.ForeignKey(
        User, on_delete=models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    status = models.TextField(choices=Status.choices, default=Status.WAITING)
    attempts = models.SmallIntegerField(default=0)
    due_at = models.DateTimeField(help_text="When it is tried next; while it is tried, when that counts as lost.")
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    problem = models.TextField(default="", help_text="Why the last attempt failed.")

    class Meta:
        db_table = "notifications"
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["tenant", "due_at"], condition=Q(status="waiting"), name="notifications_of_tenant"),
            models.Index(fields=["due_at"], condition=Q(status="waiting"), name="notifications_due"),
            models.Index(fields=["finished_at"], condition=~Q(status="waiting"), name="notifications_over"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.status}"
