import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions

# The app does not see what the operator has put on, so it cannot end it either; `switches_on` tells it.
_OWN = f"tenant_id = {rls.TENANT} AND NOT by_operator"


class Migration(migrations.Migration):
    """What owners and operators stop at once."""

    dependencies = [("tenants", "0013_single_sign_on")]

    operations = [
        migrations.CreateModel(
            name="KillSwitch",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("tool", "Tool"),
                            ("service", "Service"),
                            ("agent", "Agent"),
                            ("user", "Person"),
                            ("model", "Model"),
                            ("tenant", "Tenant"),
                            ("everything", "Everything"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "target",
                    models.CharField(
                        blank=True,
                        help_text="A tool's name, a service's or an agent's slug, a member's id, \"provider/model\", \"provider/*\".",
                        max_length=200,
                    ),
                ),
                ("reason", models.CharField(help_text="Whoever is stopped reads it.", max_length=500)),
                (
                    "until",
                    models.DateTimeField(blank=True, help_text="When it ends by itself; empty: never.", null=True),
                ),
                ("by_operator", models.BooleanField(default=False, editable=False)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "set_by",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        blank=True,
                        help_text="Empty: every tenant.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "kill_switches",
                "ordering": ["-created_at"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("tenant__isnull", False), ("by_operator", True), _connector="OR"),
                        name="kill_switches_of_all_are_operators",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "everything"), ("tenant__isnull", True)),
                            models.Q(("kind__in", ["agent", "user", "tenant"]), ("tenant__isnull", False)),
                            ("kind__in", ["tool", "service", "model"]),
                            _connector="OR",
                        ),
                        name="kill_switches_where",
                    ),
                ],
            },
        ),
        rls.operation(
            functions("tenants/switches", "switches_on", "killed", "switch_changed"),
            f"""
            ALTER TABLE kill_switches ENABLE ROW LEVEL SECURITY;
            ALTER TABLE kill_switches FORCE ROW LEVEL SECURITY;
            CREATE POLICY app ON kill_switches TO {rls.APP} USING ({_OWN}) WITH CHECK ({_OWN});
            CREATE POLICY system ON kill_switches TO {rls.SYSTEM} USING (true) WITH CHECK (true);
            CREATE POLICY operator ON kill_switches TO {rls.OPERATOR} USING (true) WITH CHECK (true);
            """,
            # A switch is never changed: another one is put on.
            rls.grant(
                "kill_switches", app="SELECT, INSERT, DELETE", operator="SELECT, INSERT, DELETE, UPDATE (set_by_id)"
            ),
            rls.changes_rights("kill_switches", function="switch_changed"),
        ),
    ]
