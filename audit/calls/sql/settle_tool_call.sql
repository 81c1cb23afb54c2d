-- End a call, with its ledger entry, if it still has one of the `sources` as its status and the fence `was`. What the
-- entry vouches for is written with it: the fence, the attempt, and when it was queued and started. What its answer has
-- read (`reads`, see `add_taint`) is what its conversation has read from then on.
-- Takes tenant and member, whom the transaction is restricted to, unless its caller has restricted it. Returns whether
-- it did; `demanded` raises
-- serialization_failure where it did not, so that nothing else of the transaction is committed either.
-- Called by whoever ends calls (app), through `audit.calls.recorder`. Locks the row.
CREATE OR REPLACE FUNCTION settle_tool_call(
    tenant uuid, member uuid, call uuid, demanded boolean, sources text[], was integer, fence integer, attempt integer,
    status text, error_code text, error_message text, error_field text, output jsonb, output_bytes integer,
    output_hash text, display text, side_effects jsonb, execution_time_ms integer, resumed_decision jsonb,
    queued_at timestamptz, started_at timestamptz, finished_at timestamptz, version smallint, commitment bytea,
    reads text[])
    RETURNS boolean LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
DECLARE
    of_conversation uuid;
    of_run uuid;
    named text;
BEGIN
    IF coalesce(current_setting('toolgate.tenant', true), '') = '' THEN
        PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    END IF;
    UPDATE tool_calls c SET status = status, error_code = error_code, error_message = error_message,
        error_field = error_field, output = output, output_bytes = output_bytes, output_hash = output_hash,
        display = display, side_effects = side_effects, execution_time_ms = execution_time_ms, lease_until = NULL,
        resumed_decision = resumed_decision, fence = fence, attempt = attempt, queued_at = queued_at,
        started_at = started_at, finished_at = finished_at
    WHERE c.id = call AND c.status = ANY(sources) AND c.fence = was
    RETURNING c.conversation_id, c.run_id, c.tool_name INTO of_conversation, of_run, named;
    IF FOUND THEN
        INSERT INTO ledger_entries (tenant_id, call_id, kind, version, commitment)
        VALUES (tenant, call, 'settled', version, commitment);
        PERFORM add_taint(tenant, member, of_conversation, of_run, reads, named, call) WHERE cardinality(reads) > 0;
        RETURN true;
    ELSIF demanded THEN
        RAISE EXCEPTION 'tool call % is not held any more', call USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN false;
END $$;
REVOKE EXECUTE ON FUNCTION settle_tool_call FROM PUBLIC;
GRANT EXECUTE ON FUNCTION settle_tool_call TO toolgate_app;
