from typing import Any

from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls

_TABLES = ("run", "message", "turn", "runrequest", "continuation")
_OWNERS = {"tenant": "tenants.tenant", "user": settings.AUTH_USER_MODEL}


def _of(owner: str, on_delete: Any = models.CASCADE, **more: Any) -> Any:
    to = _OWNERS[owner]
    return models.ForeignKey(to, on_delete=on_delete, related_name="+", db_index=False, db_constraint=False, **more)


class Migration(migrations.Migration):
    """No foreign keys to tenants and users of what is tied to a conversation, which has them, and of usage; and room for
    the next version of a run beside it, so that a turn changes no index."""

    dependencies = [
        ("gateway", "0028_calls_that_wait_for_runs"),
        ("audit", "0021_calls_without_locks"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        *(migrations.AlterField(table, owner, _of(owner)) for table in _TABLES for owner in _OWNERS),
        migrations.AlterField("turnusage", "tenant", _of("tenant")),
        migrations.AlterField("turnusage", "user", _of("user", models.SET_NULL, null=True)),
        rls.operation(
            """
            CREATE TRIGGER keep_owner_of_usage BEFORE DELETE ON tenants
                FOR EACH ROW EXECUTE FUNCTION keep_owner('tenant_id', 'turn_usage');
            CREATE TRIGGER keep_owner_of_usage BEFORE DELETE ON users
                FOR EACH ROW EXECUTE FUNCTION keep_owner('user_id', 'turn_usage');
            ALTER TABLE runs SET (fillfactor = 75);
            """
        ),
    ]
