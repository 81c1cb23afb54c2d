from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """What a conversation has read goes with it, and no sooner; a turn's calls are committed by all of it."""

    dependencies = [("gateway", "0015_budgets"), ("audit", "0019_taint")]

    operations = [
        rls.operation(
            rls.tenant_key("taint_sources", "conversation_id", "conversations"),
            "DROP FUNCTION IF EXISTS commit_turn;",
            functions("gateway/runs", "commit_turn"),
        )
    ]
