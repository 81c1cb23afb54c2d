from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """A turn's calls come with the version of the rights, by which the next turn begins."""

    dependencies = [("gateway", "0012_agent_versions")]

    operations = [
        rls.operation("DROP FUNCTION IF EXISTS calls_by_id;", functions("gateway/runs", "calls_by_id")),
    ]
