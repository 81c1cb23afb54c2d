import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import audit.identifiers
import tenants.scope.jsonb
from tenants.scope import rls


class Migration(migrations.Migration):
    """Who changed which setting, each with a ledger entry."""

    dependencies = [
        ("audit", "0012_answered"),
        ("tenants", "0005_rights_versions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="ledgerentry",
            name="kind",
            field=models.TextField(
                choices=[
                    ("proposed", "Proposed"),
                    ("decided", "Decided"),
                    ("answered", "Answered"),
                    ("settled", "Settled"),
                    ("erased", "Erased"),
                    ("dropped", "Dropped"),
                    ("read", "Read"),
                    ("changed", "Changed"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="ledgerentry",
            name="record_id",
            field=models.UUIDField(
                help_text="The decision, erasure, reading or change that it is about, in a table of its own.",
                null=True,
            ),
        ),
        migrations.CreateModel(
            name="SettingChange",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=audit.identifiers.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("via", models.TextField(help_text="page, api, admin, command or toolgate.")),
                (
                    "target",
                    models.TextField(help_text="The kind of setting, such as service, approval_rule or agent."),
                ),
                (
                    "target_id",
                    models.UUIDField(help_text="The setting's id; of a member the person's.", null=True),
                ),
                ("name", models.TextField(help_text="What the setting was called.")),
                (
                    "action",
                    models.TextField(choices=[("created", "Created"), ("changed", "Changed"), ("deleted", "Deleted")]),
                ),
                (
                    "changes",
                    models.JSONField(
                        decoder=tenants.scope.jsonb.Decoder, default=dict, help_text="By field: [before, after]."
                    ),
                ),
                ("row_key", models.BinaryField(help_text="The key of its entry's commitment.")),
                ("created_at", models.DateTimeField()),
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
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "setting_changes",
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["tenant", "-id"], name="setting_changes_of_tenant")],
            },
        ),
        rls.operation(
            """
            ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_about;
            ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_about
                CHECK (call_id IS NOT NULL OR kind IN ('dropped', 'read', 'changed'));
            """,
            rls.isolate("setting_changes"),
            rls.grant("setting_changes", app="SELECT, INSERT", system="SELECT, INSERT", operator="SELECT, INSERT"),
        ),
    ]
