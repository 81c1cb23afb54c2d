from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [
        ("gateway", "0008_idempotency_keys"),
        ("audit", "0010_record_calls"),
        ("notifications", "0002_notify_targets"),
        ("tools", "0004_rights_versions"),
    ]

    operations = [
        rls.operation(
            rls.changes_rights("agents"),
            functions(
                "gateway/runs",
                "begin_run",
                "commit_turn",
                "commit_last_turn",
                "remember_answer",
                "publish_run",
                "calls_by_id",
            ),
        )
    ]
