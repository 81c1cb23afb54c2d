"""What people did that the ledger vouches for: erased, read and changed."""

from django.db import models

from audit.identifiers import uuid7
from tenants.models import Tenant, User
from tenants.scope.jsonb import JSONField


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
