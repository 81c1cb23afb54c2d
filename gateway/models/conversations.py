"""Conversations, and their place in a tree of sessions."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from tenants.models import Tenant, User


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
