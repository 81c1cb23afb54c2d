import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import tenants.scope.jsonb
from tenants.scope import rls
from tenants.scope.sql_files import functions

TABLES = ("model_providers", "model_settings")
_ALL = "SELECT, INSERT, UPDATE, DELETE"


class Migration(migrations.Migration):
    """Named providers, and what is said of their models."""

    dependencies = [
        ("gateway", "0013_turns_by_rights"),
        ("tenants", "0016_operator_providers"),
    ]

    operations = [
        migrations.CreateModel(
            name="ModelProvider",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("slug", models.CharField(help_text="Its models are named slug/model.", max_length=32)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("openai", "OpenAI"),
                            ("anthropic", "Anthropic"),
                            ("gemini", "Gemini"),
                            ("openai-compatible", "OpenAI-compatible"),
                        ],
                        max_length=32,
                    ),
                ),
                (
                    "base_url",
                    models.CharField(blank=True, default="", help_text="Empty: the vendor's own.", max_length=2048),
                ),
                ("api_key", models.TextField(blank=True, default="", editable=False, help_text="Encrypted.")),
                (
                    "listed",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=200),
                        blank=True,
                        help_text="The models that are listed; empty: those that are known of its kind.",
                        null=True,
                        size=None,
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                ("version", models.IntegerField(default=1, editable=False, help_text="Grows with each change.")),
                ("tested_at", models.DateTimeField(editable=False, null=True)),
                (
                    "problem",
                    models.TextField(
                        blank=True, default="", editable=False, help_text="What its last test found wrong."
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("updated_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "tenant",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        help_text="Whose it is; empty: the operator's.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "model_providers",
                "ordering": ["slug"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "slug"), name="model_providers_slug", nulls_distinct=False
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelSettings",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "allowed",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=240),
                        blank=True,
                        help_text="Patterns with *; empty: every model.",
                        null=True,
                        size=None,
                    ),
                ),
                (
                    "fallbacks",
                    models.JSONField(
                        blank=True,
                        decoder=tenants.scope.jsonb.Decoder,
                        default=dict,
                        help_text='{"openai/*": ["anthropic/claude-x", …]}, in order.',
                    ),
                ),
                (
                    "prices",
                    models.JSONField(
                        blank=True,
                        decoder=tenants.scope.jsonb.Decoder,
                        default=list,
                        help_text='[{"model": pattern, "input", "output", "cached"}], USD per million tokens.',
                    ),
                ),
                ("version", models.IntegerField(default=1, editable=False, help_text="Grows with each change.")),
                ("updated_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "tenant",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "model settings",
                "db_table": "model_settings",
                "constraints": [
                    models.UniqueConstraint(fields=("tenant",), name="model_settings_tenant", nulls_distinct=False)
                ],
            },
        ),
        rls.operation(
            *(rls.isolate(table) for table in TABLES),
            *(rls.grant(table, app=_ALL, operator=_ALL) for table in TABLES),
            functions("gateway/providers/routing", "model_routing"),
            *(rls.changes_rights(table, function="all_rights_changed") for table in TABLES),
        ),
    ]
