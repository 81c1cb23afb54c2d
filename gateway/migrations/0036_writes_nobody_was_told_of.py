from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """A run and a turn that nobody has been told of need not be on disk before what comes of them is."""

    dependencies = [("gateway", "0035_leases_of_ended_runs")]

    operations = [
        rls.operation(
            "DROP FUNCTION IF EXISTS begin_run(uuid, uuid, uuid, boolean, uuid, uuid, uuid, uuid, uuid, jsonb, text, "
            "text, int4, text, bytea, text, text, text, uuid, boolean);"
            "DROP FUNCTION IF EXISTS commit_turn(uuid, uuid, uuid, timestamptz, uuid, int4, uuid, int4, text, int4, "
            "text, int8, int8, int4, text, jsonb, jsonb, jsonb, text[]);",
            functions("gateway/runs", "begin_run", "commit_turn"),
        )
    ]
