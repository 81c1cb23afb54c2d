from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """A worker waits for the lock of the call that it has claimed, which others have for a moment."""

    dependencies = [("audit", "0021_calls_without_locks")]

    operations = [rls.operation(functions("audit/calls", "lock_tool_call"))]
