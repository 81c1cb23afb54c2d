-- Write calls, in their first state, and their first ledger entries. Takes the rows of `tool_calls` (the columns that a
-- new call has) and of `ledger_entries`, in order, each an array of objects by column. Returns nothing.
-- Called by web and workers (app), through `audit.calls.recorder` or a function of a package above, within the caller's
-- transaction and tenant, which has written the calls' run before, if any. Without one, tenant and user are held against
-- deletion (`hold_owner`). Locks nothing else but what it writes.
CREATE OR REPLACE FUNCTION record_calls(calls jsonb, entries jsonb) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    IF calls -> 0 ->> 'run_id' IS NULL AND jsonb_array_length(calls) > 0 THEN
        PERFORM hold_owner((calls -> 0 ->> 'tenant_id')::uuid, (calls -> 0 ->> 'user_id')::uuid);
    END IF;
    INSERT INTO tool_calls (id, tenant_id, user_id, origin, conversation_id, message_id, run_id, turn, agent, model,
        position, tool_name, tier, input, input_raw, params_hash, decision, time_limit_ms, approval_id, status, error_code,
        error_message, error_field, display, row_key, created_at, queued_at, finished_at)
    SELECT c.id, c.tenant_id, c.user_id, c.origin, c.conversation_id, c.message_id, c.run_id, c.turn, c.agent,
        c.model, c.position, c.tool_name, c.tier, c.input, c.input_raw, c.params_hash, c.decision, c.time_limit_ms, c.approval_id, c.status,
        c.error_code, c.error_message, c.error_field, c.display, c.row_key, c.created_at, c.queued_at, c.finished_at
    FROM jsonb_populate_recordset(NULL::tool_calls, calls) c;
    INSERT INTO ledger_entries (tenant_id, call_id, record_id, kind, version, commitment)
    SELECT e.tenant_id, e.call_id, e.record_id, e.kind, e.version, e.commitment
    FROM jsonb_populate_recordset(NULL::ledger_entries, entries) e;
END $$;
REVOKE EXECUTE ON FUNCTION record_calls FROM PUBLIC;
GRANT EXECUTE ON FUNCTION record_calls TO toolgate_app, toolgate_system, toolgate_operator;
