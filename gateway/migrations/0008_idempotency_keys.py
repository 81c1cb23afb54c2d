from django.db import migrations

from tenants.scope import rls


class Migration(migrations.Migration):
    dependencies = [("gateway", "0007_no_queued_runs"), ("tools", "0003_idempotency_keys")]

    operations = [
        rls.operation(
            """
            INSERT INTO idempotency_keys (tenant_id, user_id, key, request_hash, run_id, created_at)
            SELECT tenant_id, user_id, idempotency_key, request_hash, id, created_at FROM runs
            WHERE idempotency_key IS NOT NULL AND request_hash IS NOT NULL;
            SET CONSTRAINTS ALL IMMEDIATE;
            """,
            # With its run the key goes, and may begin another.
            rls.tenant_key("idempotency_keys", "run_id", "runs"),
        )
    ]
