from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Has the files of a conversation go with it."""

    dependencies = [("gateway", "0018_schedules"), ("tools", "0007_files")]

    operations = [
        rls.operation(
            # In this order: what a conversation's versions held is freed by one statement, and not by one a file.
            rls.tenant_key("file_versions", "conversation_id", "conversations"),
            rls.tenant_key("files", "conversation_id", "conversations"),
            rls.tenant_key("file_workspaces", "conversation_id", "conversations"),
            functions("gateway/runs", "hold_conversation"),
            "CREATE TRIGGER hold_conversation BEFORE INSERT ON file_workspaces "
            "FOR EACH ROW EXECUTE FUNCTION hold_conversation();",
        ),
    ]
