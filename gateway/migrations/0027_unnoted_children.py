from django.db import migrations, models

from tenants.scope import rls

# The parents of these may be parked, and nobody may have told them.
_OF_OPEN_PARENTS = """
    UPDATE runs c SET unnoted = true FROM runs p
    WHERE p.id = c.parent_run_id AND c.finished_at IS NOT NULL AND p.finished_at IS NULL;"""


class Migration(migrations.Migration):
    """Lets the sweeper find children that have ended without a look at any parent that is parked."""

    dependencies = [("gateway", "0026_run_tokens")]

    operations = [
        migrations.AddField(
            "run",
            "unnoted",
            models.BooleanField(
                db_default=False, help_text="Whether it is over, and the run above it has yet to take note of that."
            ),
        ),
        rls.operation(_OF_OPEN_PARENTS, rls.grant("runs", system="SELECT (unnoted), UPDATE (unnoted)")),
        migrations.RemoveIndex("run", "runs_parked"),
        migrations.AddIndex(
            "run",
            models.Index(fields=["parent_run_id"], condition=models.Q(("unnoted", True)), name="runs_unnoted"),
        ),
    ]
