"""What was said in a conversation, and what the client of a run sent."""

import uuid

from django.db import models
from django.db.models.functions import Now

from gateway.models.conversations import Conversation
from gateway.models.runs import Run
from tenants.models import TIED, Tenant, User
from tenants.scope.jsonb import JSONField


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
