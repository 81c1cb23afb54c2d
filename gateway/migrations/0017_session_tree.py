import django.contrib.postgres.fields
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions

_KINDS = [("main", "Main"), ("branch", "Branch"), ("worker", "Worker")]
_HELP = "For people; what a run may do is in its profile."


class Migration(migrations.Migration):
    """Runs that other runs begin, and sessions with their place in a tree."""

    dependencies = [("gateway", "0016_taint"), ("audit", "0020_waits_on_run")]

    operations = [
        migrations.AddField(
            "conversation", "kind", models.TextField(choices=_KINDS, db_default="main", help_text=_HELP)
        ),
        migrations.AddField(
            "conversation",
            "parent_id",
            models.UUIDField(help_text="The conversation that it was branched from, or of its parent run.", null=True),
        ),
        migrations.AddField(
            "conversation",
            "branched_at",
            models.UUIDField(help_text="The last run of the parent that a branch goes on from.", null=True),
        ),
        migrations.AddField(
            "conversation",
            "labels",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            "run",
            "parent_run_id",
            models.UUIDField(help_text="The run whose call began it; empty: nobody's.", null=True),
        ),
        migrations.AddField(
            "run", "parent_call_id", models.UUIDField(help_text="The call that waits for it.", null=True)
        ),
        migrations.AddField(
            "run",
            "root_run_id",
            models.UUIDField(help_text="The first run of its tree; empty: it is that one.", null=True),
        ),
        migrations.AddField("run", "depth", models.SmallIntegerField(db_default=0)),
        migrations.AddField("run", "kind", models.TextField(choices=_KINDS, db_default="main")),
        migrations.AddField(
            "run",
            "open_calls",
            models.IntegerField(help_text="How many calls of its turn were open when it was parked.", null=True),
        ),
        migrations.AlterField(
            "run",
            "status",
            models.TextField(
                choices=[
                    ("in_progress", "In Progress"),
                    ("waiting", "Waiting"),
                    ("requires_action", "Requires Action"),
                    ("completed", "Completed"),
                    ("incomplete", "Incomplete"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                db_default="in_progress",
            ),
        ),
        migrations.RemoveConstraint("run", "runs_one_open"),
        migrations.AddConstraint(
            "run",
            models.UniqueConstraint(
                condition=models.Q(("status__in", ["in_progress", "waiting", "requires_action"]), ("surface", "")),
                fields=("conversation",),
                name="runs_one_open",
            ),
        ),
        migrations.AddConstraint(
            "run", models.UniqueConstraint(fields=("tenant", "parent_call_id"), name="runs_of_call")
        ),
        migrations.AddIndex(
            "run",
            models.Index(
                condition=models.Q(("parent_run_id__isnull", False)), fields=["parent_run_id"], name="runs_children"
            ),
        ),
        migrations.AddIndex(
            "run", models.Index(condition=models.Q(("open_calls__gt", 0)), fields=["id"], name="runs_parked")
        ),
        migrations.AddIndex(
            "run",
            models.Index(condition=models.Q(("root_run_id__isnull", False)), fields=["root_run_id"], name="runs_tree"),
        ),
        rls.operation(
            # What the sweeper compares.
            rls.grant("runs", system="SELECT (turns, open_calls)"),
            rls.grant("tool_calls", system="SELECT (turn)"),
            functions("gateway/runs/children", "charged_ms", "room_for_child", "approvals_below"),
            functions("gateway/runs", "cancel_tree", "publish_run", "run_marks"),
        ),
    ]
