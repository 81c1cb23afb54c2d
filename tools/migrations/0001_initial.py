import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tenants", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Grant",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("tool_name", models.CharField(help_text='A tool\'s name, or "*" for every tool.', max_length=64)),
                (
                    "effect",
                    models.CharField(choices=[("allow", "Allow"), ("deny", "Deny")], default="allow", max_length=8),
                ),
                (
                    "role",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("member", "Member"),
                            ("approver", "Approver"),
                            ("auditor", "Auditor"),
                            ("owner", "Owner"),
                        ],
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "grants",
                "ordering": ["tool_name"],
                "indexes": [models.Index(fields=["tenant", "user"], name="grants_tenant_user")],
            },
        ),
        migrations.CreateModel(
            name="Note",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("title", models.TextField()),
                ("content", models.TextField()),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
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
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "notes",
                "ordering": ["-created_at"],
                "indexes": [models.Index(fields=["tenant", "user", "-created_at"], name="notes_recent")],
            },
        ),
        migrations.CreateModel(
            name="Task",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("title", models.TextField()),
                ("due_date", models.DateTimeField(blank=True, null=True)),
                ("due_text", models.TextField(blank=True, null=True)),
                (
                    "priority",
                    models.CharField(
                        choices=[("low", "Low"), ("medium", "Medium"), ("high", "High")],
                        db_default="medium",
                        max_length=8,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "Pending"), ("completed", "Completed")],
                        db_default="pending",
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "tasks",
                "ordering": ["-created_at"],
                "indexes": [models.Index(fields=["tenant", "user", "-created_at"], name="tasks_recent")],
            },
        ),
        migrations.CreateModel(
            name="ToolSetting",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("tool_name", models.CharField(max_length=64)),
                ("enabled", models.BooleanField(default=True)),
                (
                    "rate",
                    models.CharField(
                        blank=True,
                        help_text='Calls per user, such as "10/m"; empty: what the tool declares.',
                        max_length=16,
                    ),
                ),
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
                "db_table": "tool_settings",
                "ordering": ["tool_name"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "tool_name"), name="tool_settings_tenant_tool")
                ],
            },
        ),
        rls.operation(
            """
            ALTER TABLE grants ADD CONSTRAINT grants_to_member FOREIGN KEY (tenant_id, user_id)
                REFERENCES memberships (tenant_id, user_id) ON DELETE CASCADE;
            """,
            rls.isolate("tool_settings"),
            rls.isolate("grants"),
            rls.isolate("notes", personal=True),
            rls.isolate("tasks", personal=True),
            *(
                rls.grant(table, app="SELECT", operator="SELECT, INSERT, UPDATE, DELETE")
                for table in ("tool_settings", "grants")
            ),
            *(
                rls.grant(table, app="SELECT, INSERT, UPDATE, DELETE", operator="SELECT")
                for table in ("notes", "tasks")
            ),
        ),
    ]
