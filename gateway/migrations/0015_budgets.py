import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import tenants.scope.jsonb
from tenants.scope import rls
from tenants.scope.sql_files import functions

_ALL = "SELECT, INSERT, UPDATE, DELETE"
_TABLES = ("budgets", "budget_windows", "turn_reservations", "turn_usage")
# A turn that is committed has settled by the end of its transaction; what is reserved then, nobody will settle.
_LEFT_OVER = """
    CREATE CONSTRAINT TRIGGER charge_left_over AFTER UPDATE ON runs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.budgeted AND (NEW.fence <> OLD.fence OR NEW.finished_at IS NOT NULL AND OLD.finished_at IS NULL))
    EXECUTE FUNCTION charge_left_over();"""


class Migration(migrations.Migration):
    """Budgets: what is spent and reserved of them, and what turns use."""

    dependencies = [
        ("gateway", "0014_model_providers"),
        ("tenants", "0010_rights_of_keys"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="budgeted",
            field=models.BooleanField(db_default=False, help_text="Whether its turns ask the tenant's budgets."),
        ),
        migrations.AddField(
            model_name="run",
            name="key_id",
            field=models.UUIDField(help_text="The key that it was begun with; empty: a session.", null=True),
        ),
        migrations.CreateModel(
            name="Budget",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "unit",
                    models.TextField(
                        choices=[("usd", "US dollars"), ("tokens", "Tokens"), ("requests", "Requests to models")]
                    ),
                ),
                (
                    "window",
                    models.TextField(
                        choices=[("day", "A day"), ("month", "A month"), ("total", "For ever")], db_column="period"
                    ),
                ),
                ("limit", models.DecimalField(db_column="amount", decimal_places=6, max_digits=21)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="gateway.agent",
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.apikey",
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
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "budgets",
                "ordering": ["created_at", "id"],
            },
        ),
        migrations.CreateModel(
            name="BudgetWindow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "budget_id", "starts_at", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("starts_at", models.DateTimeField(help_text="1970-01-01 of a budget for ever.")),
                ("spent", models.DecimalField(db_default=0, decimal_places=18, max_digits=40)),
                ("reserved", models.DecimalField(db_default=0, decimal_places=18, max_digits=40)),
                (
                    "budget",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="windows",
                        to="gateway.budget",
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
                "db_table": "budget_windows",
            },
        ),
        migrations.CreateModel(
            name="TurnReservation",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="gateway.run",
                    ),
                ),
                ("turn", models.IntegerField()),
                ("fence", models.IntegerField()),
                (
                    "usage",
                    tenants.scope.jsonb.JSONField(
                        decoder=tenants.scope.jsonb.Decoder,
                        help_text="The most that the turn can use, as `turn_usage` will say it.",
                    ),
                ),
                (
                    "parts",
                    tenants.scope.jsonb.JSONField(
                        decoder=tenants.scope.jsonb.Decoder,
                        help_text="What is reserved of which budget: [[budget, start of its window, unit, amount], …].",
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
                "db_table": "turn_reservations",
            },
        ),
        migrations.CreateModel(
            name="TurnUsage",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("agent_id", models.UUIDField(null=True)),
                ("key_id", models.UUIDField(null=True)),
                ("run_id", models.UUIDField()),
                ("turn", models.IntegerField()),
                ("model", models.TextField()),
                ("input_tokens", models.BigIntegerField()),
                ("output_tokens", models.BigIntegerField()),
                ("cached_tokens", models.BigIntegerField(db_default=0)),
                (
                    "cost",
                    models.DecimalField(
                        decimal_places=18, help_text="US dollars; empty: no price.", max_digits=40, null=True
                    ),
                ),
                ("input_rate", models.DecimalField(decimal_places=18, max_digits=40, null=True)),
                ("output_rate", models.DecimalField(decimal_places=18, max_digits=40, null=True)),
                ("price", models.TextField(db_default="", help_text='Whose price: "genai-prices 0.2.3", "tenant 4".')),
                (
                    "tools",
                    tenants.scope.jsonb.JSONField(help_text="The tools that it called, one for each call.", null=True),
                ),
                ("estimated", models.BooleanField(db_default=False)),
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
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "turn_usage",
                "ordering": ["-at"],
            },
        ),
        migrations.AddConstraint(
            model_name="budget",
            constraint=models.UniqueConstraint(
                fields=("tenant", "user", "agent", "key", "unit", "window"), name="budgets_once", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="budget",
            constraint=models.CheckConstraint(condition=models.Q(("limit__gte", 0)), name="budgets_not_negative"),
        ),
        migrations.AddConstraint(
            model_name="budgetwindow",
            constraint=models.CheckConstraint(
                condition=models.Q(("reserved__gte", 0), ("spent__gte", 0)), name="budget_windows_not_negative"
            ),
        ),
        migrations.AddIndex(
            model_name="turnusage",
            index=models.Index(fields=["tenant", "at"], name="turn_usage_recent"),
        ),
        migrations.AddIndex(
            model_name="turnusage",
            index=models.Index(fields=["tenant", "user", "at"], name="turn_usage_of_user"),
        ),
        rls.operation(
            *map(rls.isolate, _TABLES),
            rls.target("budgets"),
            rls.target("api_keys"),
            rls.tenant_key("budgets", "agent_id", "agents"),
            rls.tenant_key("budgets", "key_id", "api_keys"),
            rls.tenant_key("budget_windows", "budget_id", "budgets"),
            rls.tenant_key("turn_reservations", "run_id", "runs"),
            *(rls.grant(table, app=_ALL, operator=_ALL) for table in ("budgets", "budget_windows")),
            rls.grant("turn_reservations", app=_ALL, operator="SELECT, DELETE"),
            rls.grant("turn_usage", app="SELECT, INSERT", system="SELECT (tenant_id, at), DELETE", operator=_ALL),
            "DROP FUNCTION IF EXISTS begin_run, commit_turn, commit_last_turn;",
            functions(
                "gateway/budgets",
                "budget_start",
                "budget_refusal",
                "spent_budget",
                "tokens_within",
                "settle_parts",
                "record_usage",
                "charge_reserved",
                "charge_left_over",
                "settle_turn",
                "release_turn",
                "reserve_turn",
            ),
            functions("gateway/runs", "begin_run", "commit_turn", "commit_last_turn"),
            _LEFT_OVER,
        ),
    ]
