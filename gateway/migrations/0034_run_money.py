from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """A limit of the money that one run may cost with all that it begins."""

    dependencies = [("gateway", "0029_runs_without_locks")]

    operations = [
        migrations.AddField(
            "agent",
            "max_run_usd",
            models.DecimalField(
                blank=True,
                decimal_places=6,
                help_text="US dollars of one run and of all that it begins; empty: no limit.",
                max_digits=21,
                null=True,
            ),
        ),
        migrations.AddField(
            "run",
            "cost",
            models.DecimalField(
                db_default=0,
                decimal_places=18,
                help_text="US dollars of its askings, as far as there are prices, and of those that are estimated.",
                max_digits=40,
            ),
        ),
        migrations.AlterField(
            "run",
            "budgeted",
            models.BooleanField(
                db_default=False, help_text="Whether its turns are reserved: of budgets, or of its own tokens or money."
            ),
        ),
        rls.operation(
            "DROP FUNCTION IF EXISTS room_for_child(uuid, uuid, uuid, uuid, text[], int4, int4);",
            functions("gateway/runs/children", "run_usd", "room_for_child"),
            functions("gateway/budgets", "charge_estimate", "reserve_turn"),
            functions("gateway/runs", "begin_run", "commit_turn", "commit_last_turn"),
        ),
    ]
