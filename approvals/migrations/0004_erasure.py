from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [("approvals", "0003_rules"), ("audit", "0005_erasure")]

    operations = [
        rls.operation(
            functions("approvals/requests", "approval_requests_guard", "approval_decisions_guard"),
            """
            DROP TRIGGER append_only ON approval_decisions;
            CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON approval_decisions
                FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();
            CREATE TRIGGER guard BEFORE UPDATE ON approval_decisions
                FOR EACH ROW EXECUTE FUNCTION approval_decisions_guard();
            GRANT UPDATE (reason, edit, params_hash) ON approval_decisions TO toolgate_app;

            -- With a month of calls the words about them go, whatever the tenant.
            GRANT SELECT (id, tenant_id, call_id, params_hash), UPDATE (context, why, params_hash)
                ON approval_requests TO toolgate_system;
            GRANT SELECT (id, tenant_id, request_id, call_id, params_hash), UPDATE (reason, edit, params_hash)
                ON approval_decisions TO toolgate_system;
            """,
        )
    ]
