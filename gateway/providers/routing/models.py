"""Named providers, and what is said of their models: a tenant's own rows, and without a tenant the operator's.

A tenant sees its own rows alone. Of the operator's, the SQL function `model_routing` gives it what it may use.
"""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from tenants.models import Tenant
from tenants.scope.jsonb import JSONField


class ModelProvider(models.Model):
    """A provider of models at an address, with the key that it is asked with."""

    class Kind(models.TextChoices):
        """Whose API it speaks."""

        OPENAI = "openai", "OpenAI"
        ANTHROPIC = "anthropic", "Anthropic"
        GEMINI = "gemini", "Gemini"
        COMPATIBLE = "openai-compatible", "OpenAI-compatible"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(
        Tenant,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        help_text="Whose it is; empty: the operator's.",
    )
    slug = models.CharField(max_length=32, help_text="Its models are named slug/model.")
    kind = models.CharField(max_length=32, choices=Kind.choices)
    base_url = models.CharField(max_length=2048, blank=True, default="", help_text="Empty: the vendor's own.")
    api_key = models.TextField(blank=True, default="", editable=False, help_text="Encrypted.")
    listed = ArrayField(
        models.CharField(max_length=200),
        null=True,
        blank=True,
        help_text="The models that are listed; empty: those that are known of its kind.",
    )
    enabled = models.BooleanField(default=True)
    version = models.IntegerField(default=1, editable=False, help_text="Grows with each change.")
    tested_at = models.DateTimeField(null=True, editable=False)
    problem = models.TextField(blank=True, default="", editable=False, help_text="What its last test found wrong.")
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        app_label = "gateway"
        db_table = "model_providers"
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "slug"], name="model_providers_slug", nulls_distinct=False)
        ]

    def __str__(self) -> str:
        return self.slug


class ModelSettings(models.Model):
    """Which models are allowed, what takes the place of one that fails, and what they cost."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(
        Tenant, on_delete=models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )
    allowed = ArrayField(
        models.CharField(max_length=240), null=True, blank=True, help_text="Patterns with *; empty: every model."
    )
    fallbacks = JSONField(default=dict, blank=True, help_text='{"openai/*": ["anthropic/claude-x", …]}, in order.')
    prices = JSONField(
        default=list, blank=True, help_text='[{"model": pattern, "input", "output", "cached"}], USD per million tokens.'
    )
    version = models.IntegerField(default=1, editable=False, help_text="Grows with each change.")
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        app_label = "gateway"
        db_table = "model_settings"
        verbose_name_plural = "model settings"
        constraints = [models.UniqueConstraint(fields=["tenant"], name="model_settings_tenant", nulls_distinct=False)]

    def __str__(self) -> str:
        return f"models of {self.tenant_id or 'the operator'}"
