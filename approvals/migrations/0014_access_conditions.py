import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import tenants.scope.jsonb
from tenants.scope import rls

_RIGHTS = ("access_conditions", "alert_levels")


class Migration(migrations.Migration):
    """What tenants demand of calls, by their context; and how alarmed they are."""

    dependencies = [("approvals", "0013_questions"), ("tenants", "0005_rights_versions")]

    operations = [
        migrations.CreateModel(
            name="AccessCondition",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                (
                    "tool_name",
                    models.CharField(help_text='A tool\'s name, "service.*", or "*" for every tool.', max_length=64),
                ),
                (
                    "agent",
                    models.CharField(blank=True, help_text="An agent's slug; empty: every agent.", max_length=50),
                ),
                (
                    "condition",
                    models.JSONField(
                        decoder=tenants.scope.jsonb.Decoder,
                        help_text='A JSON Schema that {"args", "context"} must satisfy for a call to go on.',
                    ),
                ),
                (
                    "time_zone",
                    models.CharField(default="UTC", help_text="Whose hours and days it means.", max_length=64),
                ),
                ("enabled", models.BooleanField(default=True)),
                ("version", models.IntegerField(default=1, help_text="Another one after each change.")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("updated_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "access_conditions",
                "ordering": ["tool_name", "name"],
                "indexes": [models.Index(fields=["tenant", "enabled"], name="access_conditions_enabled")],
            },
        ),
        migrations.CreateModel(
            name="AlertLevel",
            fields=[
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="tenants.tenant",
                    ),
                ),
                ("level", models.SmallIntegerField(default=0)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("updated_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "alert_levels",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("level__gte", 0), ("level__lte", 3)), name="alert_levels_level"
                    )
                ],
            },
        ),
        rls.operation(
            *map(rls.isolate, _RIGHTS),
            *(
                rls.grant(
                    table,
                    app="SELECT, INSERT, UPDATE, DELETE",
                    system="SELECT",
                    operator="SELECT, INSERT, UPDATE, DELETE",
                )
                for table in _RIGHTS
            ),
            *map(rls.changes_rights, _RIGHTS),
        ),
    ]
