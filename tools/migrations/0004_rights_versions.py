from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [("tools", "0003_idempotency_keys"), ("tenants", "0005_rights_versions")]

    operations = [
        rls.operation(
            rls.changes_rights("tool_settings"),
            rls.changes_rights("grants"),
            functions("tools/invocation", "rights_hold", "propose_calls", "bind_run"),
        )
    ]
