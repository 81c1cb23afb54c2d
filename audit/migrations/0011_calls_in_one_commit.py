from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """A worker's transactions: each a function, called in one round trip."""

    dependencies = [("audit", "0010_record_calls")]

    operations = [
        rls.operation(
            functions("audit/calls", "claim_tool_call", "lock_tool_call", "requeue_tool_call", "settle_tool_call")
        )
    ]
