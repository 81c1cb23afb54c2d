from django.db import migrations

from tenants.scope import rls


class Migration(migrations.Migration):
    dependencies = [("approvals", "0003_rules"), ("audit", "0005_erasure")]

    operations = [
        rls.operation(
            """
            -- What is decided may become what erasure leaves of it, and nothing else: who asked and who decided what,
            -- without the conversation, the words and the hashes of the arguments.
            CREATE OR REPLACE FUNCTION approval_requests_guard() RETURNS trigger LANGUAGE plpgsql AS $$
            DECLARE
                before jsonb := to_jsonb(OLD);
                after jsonb := to_jsonb(NEW);
            BEGIN
                IF OLD.used_at IS NULL THEN
                    before := before - 'used_at';
                    after := after - 'used_at';
                END IF;
                IF after NOT IN (before, before || '{"context": [], "why": "", "params_hash": ""}') THEN
                    RAISE EXCEPTION 'approval request % is decided', OLD.id USING ERRCODE = 'integrity_constraint_violation';
                END IF;
                RETURN NEW;
            END $$;

            -- Of the hash it stays whether the decision counted: then it is empty, else the decision's own id.
            CREATE FUNCTION approval_decisions_guard() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF NEW.params_hash NOT IN ('', OLD.id::text) OR to_jsonb(NEW) - 'params_hash' IS DISTINCT FROM
                    (to_jsonb(OLD) || '{"reason": "", "edit": null}') - 'params_hash' THEN
                    RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'insufficient_privilege';
                END IF;
                RETURN NEW;
            END $$;
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
            """
        )
    ]
