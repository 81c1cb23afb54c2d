from django.db import migrations, models

from tenants.scope import rls


class Migration(migrations.Migration):
    """Has two indexes of runs hold and say less, so that no statement looks there for a run by its id."""

    dependencies = [("gateway", "0021_failed_schedules")]

    operations = [
        migrations.RemoveConstraint("run", "runs_of_call"),
        migrations.AddConstraint(
            "run",
            models.UniqueConstraint(
                fields=("tenant", "parent_call_id"),
                condition=models.Q(("parent_call_id__isnull", False)),
                name="runs_of_call",
            ),
        ),
        migrations.RemoveIndex("run", "runs_leases"),
        migrations.AddIndex(
            "run",
            models.Index(
                fields=["lease_until"],
                condition=models.Q(("finished_at", None), ("status", "in_progress")),
                name="runs_leases",
            ),
        ),
        # What the sweeper compares.
        rls.operation(rls.grant("runs", system="SELECT (finished_at)")),
    ]
