from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """A limit of the tokens that one run may use with all that it begins."""

    dependencies = [("gateway", "0025_ended_children")]

    operations = [
        migrations.AddField(
            "agent",
            "max_run_tokens",
            models.PositiveIntegerField(
                blank=True,
                null=True,
                help_text="Tokens of one run and of all that it begins, in and out; empty: no limit.",
            ),
        ),
        migrations.AddField(
            "run",
            "estimated_tokens",
            models.BigIntegerField(
                db_default=0, help_text="What was reserved for askings of which nobody knows what they used."
            ),
        ),
        migrations.AlterField(
            "run",
            "budgeted",
            models.BooleanField(
                db_default=False, help_text="Whether its turns are reserved: of budgets, or of its own tokens."
            ),
        ),
        rls.operation(
            "DROP FUNCTION IF EXISTS room_for_child(uuid, uuid, uuid, int4, int4);",
            functions("gateway/runs/children", "run_tokens", "room_for_child"),
            functions("gateway/budgets", "charge_estimate", "charge_reserved", "settle_turn", "reserve_turn"),
            functions("gateway/runs", "begin_run"),
        ),
    ]
