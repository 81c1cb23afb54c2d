from typing import Any

from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions

_TENANT = "tenants.tenant"
_USER = settings.AUTH_USER_MODEL


def _of(to: str, on_delete: Any, **more: Any) -> Any:
    return models.ForeignKey(to, on_delete=on_delete, related_name="+", db_constraint=False, **more)


class Migration(migrations.Migration):
    """No foreign keys of calls, entries and taint to tenants and users: each row locked theirs, and wrote that down."""

    dependencies = [
        ("audit", "0020_waits_on_run"),
        ("tenants", "0023_names"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField("toolcall", "tenant", _of(_TENANT, models.PROTECT)),
        migrations.AlterField("toolcall", "user", _of(_USER, models.PROTECT)),
        migrations.AlterField("ledgerentry", "tenant", _of(_TENANT, models.PROTECT, db_index=False)),
        migrations.AlterField("taintsource", "tenant", _of(_TENANT, models.CASCADE, db_index=False)),
        migrations.AlterField("taintsource", "user", _of(_USER, models.CASCADE, db_index=False)),
        rls.operation(
            functions("audit/calls", "keep_owner", "hold_owner", "record_calls"),
            """
            CREATE TRIGGER keep_owner_of_calls BEFORE DELETE ON tenants
                FOR EACH ROW EXECUTE FUNCTION keep_owner('tenant_id', 'tool_calls', 'ledger_entries');
            CREATE TRIGGER keep_owner_of_calls BEFORE DELETE ON users
                FOR EACH ROW EXECUTE FUNCTION keep_owner('user_id', 'tool_calls');
            """,
        ),
    ]
