import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tenants", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="ToolCall",
                    fields=[
                        ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ("conversation_id", models.UUIDField()),
                        ("message_id", models.UUIDField()),
                        ("run_id", models.UUIDField()),
                        ("turn", models.IntegerField(help_text="The run's turn that made the call, from 1.")),
                        ("position", models.IntegerField(help_text="The call's place among its turn's calls, from 0.")),
                        ("tool_name", models.TextField()),
                        ("tier", models.TextField(help_text="Empty when no such tool exists.", null=True)),
                        ("input", models.JSONField(null=True)),
                        (
                            "input_raw",
                            models.TextField(help_text="What the model sent, when it was not valid JSON.", null=True),
                        ),
                        ("output", models.JSONField(null=True)),
                        ("output_bytes", models.IntegerField(help_text="Size of the whole output as JSON.", null=True)),
                        ("display", models.TextField(default="")),
                        (
                            "status",
                            models.TextField(
                                choices=[
                                    ("proposed", "Proposed"),
                                    ("awaiting_approval", "Awaiting Approval"),
                                    ("queued", "Queued"),
                                    ("claimed", "Claimed"),
                                    ("running", "Running"),
                                    ("success", "Success"),
                                    ("error", "Error"),
                                ],
                                default="proposed",
                            ),
                        ),
                        (
                            "error_code",
                            models.TextField(
                                choices=[
                                    ("not_allowed", "Not Allowed"),
                                    ("validation_error", "Validation Error"),
                                    ("permission_denied", "Permission Denied"),
                                    ("policy_denied", "Policy Denied"),
                                    ("rate_limited", "Rate Limited"),
                                    ("approval_denied", "Approval Denied"),
                                    ("approval_expired", "Approval Expired"),
                                    ("cancelled", "Cancelled"),
                                    ("timeout", "Timeout"),
                                    ("execution_error", "Execution Error"),
                                    ("unavailable", "Unavailable"),
                                    ("outcome_unknown", "Outcome Unknown"),
                                ],
                                null=True,
                            ),
                        ),
                        ("error_message", models.TextField(null=True)),
                        ("error_field", models.TextField(null=True)),
                        ("decision", models.JSONField(default=list, help_text="Each gate's answer, in order.")),
                        (
                            "side_effects",
                            models.JSONField(
                                default=list, help_text="What the call made or changed: kind, id, action."
                            ),
                        ),
                        ("params_hash", models.TextField(null=True)),
                        ("output_hash", models.TextField(null=True)),
                        (
                            "row_key",
                            models.BinaryField(
                                help_text="The key of the ledger's commitments; erased with the payload.", null=True
                            ),
                        ),
                        ("attempt", models.IntegerField(default=0)),
                        ("fence", models.IntegerField(default=0)),
                        ("lease_until", models.DateTimeField(null=True)),
                        (
                            "time_limit_ms",
                            models.IntegerField(default=30000, help_text="What all its attempts together may take."),
                        ),
                        ("execution_time_ms", models.IntegerField(null=True)),
                        ("created_at", models.DateTimeField()),
                        ("queued_at", models.DateTimeField(null=True)),
                        ("started_at", models.DateTimeField(null=True)),
                        ("finished_at", models.DateTimeField(null=True)),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "verbose_name": "tool call",
                        "db_table": "tool_calls",
                        "ordering": ["-id"],
                    },
                ),
            ],
        ),
        rls.operation(
            """
            -- Range-partitioned by its UUIDv7 id, which grows with time: old months can be detached whole, and
            -- every index stays as small as a month. The default partition catches what no month was made for.
            CREATE TABLE tool_calls (
                id uuid PRIMARY KEY,
                tenant_id uuid NOT NULL REFERENCES tenants (id),
                user_id uuid NOT NULL REFERENCES users (id),
                conversation_id uuid NOT NULL,
                message_id uuid NOT NULL,
                run_id uuid NOT NULL,
                turn integer NOT NULL,
                position integer NOT NULL,
                tool_name text NOT NULL,
                tier text,
                input jsonb,
                input_raw text,
                output jsonb,
                output_bytes integer,
                display text NOT NULL DEFAULT '',
                status text NOT NULL CHECK (status IN
                    ('proposed', 'awaiting_approval', 'queued', 'claimed', 'running', 'success', 'error')),
                error_code text CHECK ((error_code IS NOT NULL) = (status = 'error')),
                error_message text,
                error_field text,
                decision jsonb NOT NULL DEFAULT '[]',
                side_effects jsonb NOT NULL DEFAULT '[]',
                params_hash text,
                output_hash text,
                row_key bytea,
                attempt integer NOT NULL DEFAULT 0,
                fence integer NOT NULL DEFAULT 0,
                lease_until timestamptz,
                time_limit_ms integer NOT NULL DEFAULT 30000,
                execution_time_ms integer,
                created_at timestamptz NOT NULL DEFAULT now(),
                queued_at timestamptz,
                started_at timestamptz,
                finished_at timestamptz
            ) PARTITION BY RANGE (id);
            CREATE INDEX tool_calls_tenant ON tool_calls (tenant_id, id DESC);
            CREATE INDEX tool_calls_user ON tool_calls (tenant_id, user_id, id DESC);
            CREATE INDEX tool_calls_tool ON tool_calls (tenant_id, tool_name, id DESC);
            CREATE INDEX tool_calls_run ON tool_calls (run_id, turn, position);
            CREATE INDEX tool_calls_conversation ON tool_calls (tenant_id, conversation_id, id);
            CREATE INDEX tool_calls_open ON tool_calls (status, lease_until) WHERE status IN ('queued', 'claimed', 'running');
            """,
            functions("audit/calls", "tool_calls_guard"),
            """
            CREATE TRIGGER guard BEFORE UPDATE ON tool_calls FOR EACH ROW
                WHEN (OLD.status IN ('success', 'error')) EXECUTE FUNCTION tool_calls_guard();

            CREATE TABLE tool_calls_default PARTITION OF tool_calls DEFAULT;
            """,
            rls.isolate("tool_calls"),
            rls.isolate("tool_calls_default"),
            functions(
                "audit/calls",
                "uuid_v7_floor",
                "tool_call_month_name",
                "tool_call_month_floor",
                "make_tool_call_month",
                "make_tool_call_partitions",
            ),
            "SELECT make_tool_call_partitions(3);",
            rls.grant("tool_calls", app="SELECT, INSERT, UPDATE", operator="SELECT"),
            rls.grant(
                "tool_calls",
                system="SELECT (id, tenant_id, user_id, run_id, tool_name, status, attempt, fence,"
                " lease_until, queued_at)",
            ),
        ),
        migrations.CreateModel(
            name="LedgerEntry",
            fields=[
                ("seq", models.BigAutoField(primary_key=True, serialize=False)),
                ("call_id", models.UUIDField()),
                (
                    "kind",
                    models.TextField(
                        choices=[("proposed", "Proposed"), ("decided", "Decided"), ("settled", "Settled")]
                    ),
                ),
                ("version", models.SmallIntegerField()),
                ("commitment", models.BinaryField()),
                ("created_at", models.DateTimeField()),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "ledger entries",
                "db_table": "ledger_entries",
                "ordering": ["seq"],
                "indexes": [models.Index(fields=["tenant", "call_id"], name="ledger_entries_call")],
            },
        ),
        rls.operation(
            """
            -- The transaction that wrote the entry: what is older than every open one is complete, and can be sealed.
            ALTER TABLE ledger_entries ADD COLUMN xact xid8 NOT NULL DEFAULT pg_current_xact_id();
            ALTER TABLE ledger_entries ALTER COLUMN created_at SET DEFAULT now();
            """,
            functions("audit/log", "ledger_is_append_only"),
            """
            CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
                FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();
            """,
            functions("audit/calls", "renew_call_leases"),
            rls.isolate("ledger_entries"),
            rls.grant("ledger_entries", app="SELECT, INSERT", system="SELECT", operator="SELECT"),
            rls.grant("SEQUENCE ledger_entries_seq_seq", app="USAGE"),
        ),
    ]
