import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now

import tenants.scope.jsonb
from tenants.scope import rls

# What an agent's first version says, by its field.
_FIELDS = (
    *("name", "instructions", "model", "tools", "is_default", "max_tier", "on_refused_approval", "on_disconnect"),
    *("max_turns", "max_seconds", "tool_seconds", "max_result_bytes", "max_offered_tools", "pinned_tools"),
)
_FIRST = f"""
    INSERT INTO agent_versions (id, tenant_id, agent_id, number, "values", via, created_at)
    SELECT gen_random_uuid(), tenant_id, id, version, jsonb_build_object({", ".join(f"'{x}', {x}" for x in _FIELDS)}),
        'toolgate', created_at FROM agents;"""


class Migration(migrations.Migration):
    """What agents were before each change, and agents that nothing begins with any more; owners change them."""

    dependencies = [("gateway", "0011_many_tools"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="version",
            field=models.PositiveIntegerField(
                db_default=1, default=1, editable=False, help_text="Of what is said here: each change raises it."
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="archived_at",
            field=models.DateTimeField(
                editable=False,
                help_text="Since when nothing begins with it any more; its slug stays taken.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(is_default=False) | models.Q(archived_at=None), name="agents_default_is_not_archived"
            ),
        ),
        migrations.CreateModel(
            name="AgentVersion",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("values", models.JSONField(decoder=tenants.scope.jsonb.Decoder)),
                (
                    "restored",
                    models.PositiveIntegerField(help_text="The version that was restored, if one was.", null=True),
                ),
                ("via", models.TextField(help_text="page, api, admin, command or toolgate.")),
                ("created_at", models.DateTimeField(db_default=Now())),
                (
                    "actor",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="gateway.agent",
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
            options={"db_table": "agent_versions", "ordering": ["-number"]},
        ),
        migrations.AddConstraint(
            model_name="agentversion",
            constraint=models.UniqueConstraint(fields=("tenant", "agent", "number"), name="agent_versions_number"),
        ),
        rls.operation(
            _FIRST,
            rls.tenant_key("agent_versions", "agent_id", "agents"),
            rls.isolate("agent_versions"),
            rls.grant("agent_versions", app="SELECT, INSERT", operator="SELECT, INSERT, DELETE"),
            # An agent is archived, and deleted by an operator alone.
            rls.grant("agents", app="INSERT, UPDATE"),
        ),
    ]
