import django.contrib.postgres.fields
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


def _taint() -> models.Field:
    return django.contrib.postgres.fields.ArrayField(
        models.TextField(), default=list, db_default=[], help_text="What its writers had read.", size=None
    )


class Migration(migrations.Migration):
    """Notes and tasks remember what the conversations had read in which they were written."""

    dependencies = [("tools", "0008_memories"), ("audit", "0019_taint")]

    operations = [
        migrations.AddField("note", "taint", _taint()),
        migrations.AddField("task", "taint", _taint()),
        rls.operation(
            # It returns a column more, which CREATE OR REPLACE does not do.
            "DROP FUNCTION IF EXISTS find_notes(text, integer);",
            functions("tools/stores", "find_notes"),
        ),
    ]
