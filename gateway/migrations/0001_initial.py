import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("sessions", "0001_initial"),
        ("tenants", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Agent",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("slug", models.SlugField()),
                ("name", models.CharField(max_length=200)),
                ("instructions", models.TextField(blank=True)),
                (
                    "model",
                    models.CharField(blank=True, help_text="provider/model; empty: DEFAULT_MODEL.", max_length=200),
                ),
                (
                    "tools",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text='"all", or a list of names; "..." stands for the tenant\'s default tools.',
                    ),
                ),
                ("is_default", models.BooleanField(default=False)),
                ("max_turns", models.PositiveSmallIntegerField(default=8)),
                ("max_seconds", models.PositiveSmallIntegerField(default=120)),
                ("tool_seconds", models.PositiveSmallIntegerField(default=30)),
                ("max_result_bytes", models.PositiveIntegerField(default=16384)),
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
            ],
            options={
                "db_table": "agents",
                "ordering": ["slug"],
            },
        ),
        migrations.CreateModel(
            name="Conversation",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("title", models.CharField(blank=True, max_length=200)),
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
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "conversations",
                "ordering": ["-updated_at"],
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("message_id", models.UUIDField(help_text="The assistant's message that this run writes.")),
                (
                    "profile",
                    models.JSONField(help_text="The agent's instructions, tools and budgets when the run began."),
                ),
                ("model", models.TextField()),
                (
                    "status",
                    models.TextField(
                        choices=[
                            ("queued", "Queued"),
                            ("in_progress", "In Progress"),
                            ("requires_action", "Requires Action"),
                            ("completed", "Completed"),
                            ("incomplete", "Incomplete"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        db_default="queued",
                    ),
                ),
                ("incomplete_reason", models.TextField(null=True)),
                ("error_code", models.TextField(null=True)),
                ("error_message", models.TextField(null=True)),
                (
                    "error_status",
                    models.IntegerField(
                        help_text="The HTTP status that the client was or will be answered.", null=True
                    ),
                ),
                ("input_tokens", models.BigIntegerField(db_default=0)),
                ("output_tokens", models.BigIntegerField(db_default=0)),
                ("turns", models.IntegerField(db_default=0, help_text="Turns that the model has answered.")),
                ("fence", models.IntegerField(db_default=1)),
                ("lease_until", models.DateTimeField(null=True)),
                ("spent_ms", models.BigIntegerField(db_default=0, help_text="Active time before `resumed_at`.")),
                (
                    "resumed_at",
                    models.DateTimeField(
                        help_text="Since when the clock runs; empty while it stands still.", null=True
                    ),
                ),
                ("idempotency_key", models.TextField(null=True)),
                ("request_hash", models.BinaryField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="gateway.agent",
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="gateway.conversation",
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
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "runs",
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("role", models.TextField(choices=[("user", "User"), ("assistant", "Assistant")])),
                ("content", models.TextField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "conversation",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="gateway.conversation",
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
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="gateway.run",
                    ),
                ),
            ],
            options={
                "db_table": "messages",
                "ordering": ["created_at"],
            },
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("number", models.IntegerField()),
                (
                    "attempt",
                    models.IntegerField(
                        help_text="Which asking of this turn was answered; grows with every asking anew."
                    ),
                ),
                ("text", models.TextField()),
                ("calls", models.IntegerField(db_default=0)),
                ("finish_reason", models.TextField()),
                ("input_tokens", models.BigIntegerField(db_default=0)),
                ("output_tokens", models.BigIntegerField(db_default=0)),
                ("latency_ms", models.IntegerField(db_default=0)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answered_turns",
                        to="gateway.run",
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
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "turns",
                "ordering": ["run", "number"],
            },
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(fields=("tenant", "slug"), name="agents_tenant_slug"),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_default", True)), fields=("tenant",), name="agents_one_default"
            ),
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(fields=["tenant", "user", "-updated_at"], name="conversations_recent"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["tenant", "conversation", "created_at"], name="runs_of_conversation"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("status__in", ["queued", "in_progress"])),
                fields=["lease_until"],
                name="runs_leases",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("idempotency_key__isnull", False)),
                fields=("tenant", "user", "idempotency_key"),
                name="runs_idempotency_key",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ["queued", "in_progress", "requires_action"])),
                fields=("conversation",),
                name="runs_one_open",
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["tenant", "conversation", "created_at"], name="messages_of_conversation"),
        ),
        migrations.AddConstraint(
            model_name="turn",
            constraint=models.UniqueConstraint(fields=("tenant", "run", "number"), name="turns_run_number"),
        ),
        rls.operation(
            *(rls.target(table) for table in ("agents", "conversations", "runs")),
            rls.tenant_key("runs", "conversation_id", "conversations"),
            rls.tenant_key("runs", "agent_id", "agents", on_delete="SET NULL (agent_id)"),
            rls.tenant_key("messages", "conversation_id", "conversations"),
            rls.tenant_key("messages", "run_id", "runs"),
            rls.tenant_key("turns", "run_id", "runs"),
            rls.isolate("agents"),
            rls.isolate("runs"),
            *(rls.isolate(table, personal=True) for table in ("conversations", "messages", "turns")),
            rls.grant("agents", app="SELECT", operator="SELECT, INSERT, UPDATE, DELETE"),
            *(
                rls.grant(table, app="SELECT, INSERT, UPDATE, DELETE", operator="SELECT")
                for table in ("conversations", "runs", "messages", "turns")
            ),
            rls.grant(
                "runs",
                system="SELECT (id, tenant_id, user_id, status, fence, lease_until, idempotency_key,"
                " created_at), UPDATE (idempotency_key)",
            ),
            functions("gateway/runs", "renew_run_leases", "run_marks"),
            rls.grant(
                "django_session",
                app="SELECT, INSERT, UPDATE, DELETE",
                operator="SELECT, INSERT, UPDATE, DELETE",
                system="SELECT (session_key, expire_date), DELETE",
            ),
            rls.grant("django_content_type", app="SELECT", operator="SELECT"),
            rls.grant("auth_permission", app="SELECT", operator="SELECT"),
            rls.grant("auth_group", app="SELECT", operator="SELECT, INSERT, UPDATE, DELETE"),
            rls.grant("auth_group_permissions", app="SELECT", operator="SELECT, INSERT, UPDATE, DELETE"),
            rls.grant("django_admin_log", operator="SELECT, INSERT"),
            rls.grant("django_migrations", app="SELECT", operator="SELECT"),
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO toolgate_operator;",
        ),
    ]
