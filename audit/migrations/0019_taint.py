import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions

_CALL = "The newest call whose answer it was; empty for what was no call."


class Migration(migrations.Migration):
    """What conversations have read, written in the commit of the call that read it."""

    dependencies = [
        ("audit", "0018_changes_by_webhooks"),
        ("tenants", "0018_profiles"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="TaintSource",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        *("tenant_id", "conversation_id", "label", "source"),
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("conversation_id", models.UUIDField()),
                ("label", models.TextField(choices=[("private", "Private"), ("untrusted", "Untrusted")])),
                ("source", models.TextField(help_text="The tool whose answer it was, or what else was read.")),
                ("run_id", models.UUIDField(help_text="The run that read it last.", null=True)),
                ("call_id", models.UUIDField(help_text=_CALL, null=True)),
                ("read_at", models.DateTimeField(help_text="When it was read last.")),
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
            options={"db_table": "taint_sources"},
        ),
        rls.operation(
            rls.isolate("taint_sources", personal=True),
            # Nobody takes a label away: rows go with their conversation alone.
            rls.grant(
                "taint_sources", app="SELECT, INSERT, UPDATE (run_id, call_id, read_at)", operator="SELECT, DELETE"
            ),
            "DROP FUNCTION IF EXISTS settle_tool_call;",
            functions("audit/calls", "taint_labels", "taint_of", "add_taint", "flow_taint", "settle_tool_call"),
        ),
    ]
