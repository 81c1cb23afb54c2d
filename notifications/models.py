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
    # A person's own message, and the destination that it goes to, if it does: keys of the migration, too.
    message_id = models.UUIDField(null=True)
    destination_id = models.UUIDField(null=True)
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
            models.Index(
                fields=["tenant", "message_id"], condition=Q(message_id__isnull=False), name="notifications_of_message"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.status}"


class InboxEntry(models.Model):
    """Something that a person is told inside Toolgate; seen by that person only."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32, help_text="What it is: message, reminder, delivery, …")
    key = models.CharField(max_length=200, help_text="Written twice under the same key, it is one entry.")
    title = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    path = models.CharField(max_length=500, blank=True, help_text="Where it leads on this site; it may be empty.")
    media = models.JSONField(
        default=list, db_default=[], help_text="Versions of files of a conversation that go along."
    )
    call_id = models.UUIDField(null=True, help_text="The call that wrote it, if one did.")
    created_at = models.DateTimeField(db_default=Now())
    read_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "inbox_entries"
        ordering = ["-created_at"]
        constraints = [models.UniqueConstraint(fields=["tenant", "user", "key"], name="inbox_entries_key")]
        indexes = [
            models.Index(fields=["tenant", "user", "-created_at", "-id"], name="inbox_entries_recent"),
            models.Index(fields=["tenant", "user"], condition=Q(read_at=None), name="inbox_entries_unread"),
            models.Index(fields=["created_at"], name="inbox_entries_old"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Destination(models.Model):
    """Where a person has their messages sent over one channel; seen by that person only.

    It is verified once. A removed one stays, without its secret, so that what was sent is explained.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=64, help_text="What its person calls it.")
    folded = models.CharField(max_length=200, help_text="The name as names are compared.")
    channel = models.TextField(help_text="Its name in notifications.channels.registry.")
    destination = models.CharField(max_length=2048, help_text="What may be shown of where it leads.")
    secret = models.TextField(editable=False, blank=True, help_text="What its channel keeps secret, encrypted.")
    reminders = models.BooleanField(default=False, help_text="Reminders are sent to it, too.")
    token_hash = models.CharField(max_length=64, blank=True, help_text="Of the link that verifies it.")
    asked_at = models.DateTimeField(null=True, help_text="When it was last asked to be verified.")
    verified_at = models.DateTimeField(null=True)
    disabled_because = models.TextField(blank=True, default="", db_default="")
    removed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "destinations"
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "user", "folded"], condition=Q(removed_at=None), name="destinations_name"
            )
        ]
        indexes = [models.Index(fields=["tenant", "user", "-created_at"], name="destinations_recent")]

    def __str__(self) -> str:
        return f"{self.channel} {self.id}"


class SentMessage(models.Model):
    """A message that was sent in a person's name to one place, and how far it is; seen by that person only."""

    class Status(models.TextChoices):
        """The last two are final."""

        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200, help_text="Written twice under the same key, it is one message.")
    kind = models.CharField(max_length=32, help_text="message or reminder")
    channel = models.TextField()
    # The migration makes this key with the tenant in it; none is an address that is nobody's destination.
    destination = models.ForeignKey(
        Destination, on_delete=models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )
    recipient = models.CharField(max_length=254, help_text="The destination's name, or the address.")
    text = models.TextField()
    operation = models.JSONField(null=True)
    media = models.JSONField(
        default=list, db_default=[], help_text="Versions of files of a conversation that go along."
    )
    call_id = models.UUIDField(null=True)
    status = models.TextField(choices=Status.choices, default=Status.WAITING, db_default="waiting")
    problem = models.TextField(blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "sent_messages"
        ordering = ["-created_at"]
        constraints = [models.UniqueConstraint(fields=["tenant", "user", "key"], name="sent_messages_key")]
        indexes = [
            models.Index(fields=["tenant", "user", "-created_at", "-id"], name="sent_messages_recent"),
            models.Index(fields=["created_at"], name="sent_messages_old"),
            models.Index(fields=["call_id"], condition=Q(call_id__isnull=False), name="sent_messages_of_call"),
            models.Index(
                fields=["tenant", "destination"], condition=Q(destination__isnull=False), name="sent_messages_where"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Reminder(models.Model):
    """What a person is to be reminded of at a moment, once; seen by that person only."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    text = models.TextField()
    at = models.DateTimeField()
    call_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    fired_at = models.DateTimeField(null=True, help_text="When it came due and was told, or was dropped.")

    class Meta:
        db_table = "reminders"
        ordering = ["at"]
        indexes = [
            models.Index(fields=["tenant", "user", "at", "id"], name="reminders_of_user"),
            models.Index(fields=["at"], condition=Q(fired_at=None), name="reminders_due"),
            models.Index(fields=["fired_at"], condition=Q(fired_at__isnull=False), name="reminders_over"),
        ]

    def __str__(self) -> str:
        return f"reminder {self.id}"
