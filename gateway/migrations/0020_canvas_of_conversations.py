from django.db import migrations

from tenants.scope import rls


class Migration(migrations.Migration):
    """Has the canvas of a conversation go with it."""

    dependencies = [("gateway", "0019_files_of_conversations"), ("tools", "0010_canvas_versions")]

    operations = [rls.operation(rls.tenant_key("canvas_versions", "conversation_id", "conversations"))]
