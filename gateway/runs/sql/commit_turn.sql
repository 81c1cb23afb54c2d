-- Commit a turn with the calls that it suggests, under the driver's fence. Takes tenant and member; the version of the
-- rights that the calls were evaluated by and until when those hold (`rights_hold`); the run and its fence; the turn's
-- columns; what it used (`settle_turn`); what `record_calls` takes; and what the conversation had read when the calls
-- were evaluated (`taint_labels`; NULL: for none of them that matters). One that has read more by now is evaluated
-- again: that counts as rights which do not hold; and whether the turn has to survive a crash of the database from now
-- on (see `begin_run`).
-- Returns one row: whether the rights are still those, and the run's new row, which is null when the run is not this
-- driver's any more. In both cases nothing is written.
-- Called by web and workers (app). Locks the run's row, and the windows of the
-- budgets that the turn had reserved of, until the transaction ends.
CREATE OR REPLACE FUNCTION commit_turn(
    tenant uuid, member uuid, version uuid, valid_until timestamptz, run_id uuid, fence int4, turn_id uuid,
    attempt int4, text text, calls int4, finish_reason text, input_tokens int8, output_tokens int8, latency_ms int4,
    more text, usage jsonb, call_rows jsonb, entries jsonb,
    taint text[], durable boolean DEFAULT true
) RETURNS TABLE (holds boolean, run runs) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    IF NOT durable THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
    holds := rights_hold(tenant, version, valid_until);
    IF taint IS NOT NULL THEN
        -- A run that is not there any more is not this driver's, whatever was read.
        holds := holds AND NOT EXISTS (
            SELECT FROM runs r WHERE r.id = commit_turn.run_id AND NOT taint_labels(r.conversation_id) <@ taint);
    END IF;
    IF holds THEN
        UPDATE runs r SET turns = r.turns + 1, input_tokens = r.input_tokens + commit_turn.input_tokens,
            output_tokens = r.output_tokens + commit_turn.output_tokens,
            cost = r.cost + coalesce((usage ->> 'cost')::numeric, 0),
            budgeted = r.budgeted OR EXISTS (SELECT FROM budgets b WHERE b.tenant_id = tenant)
        WHERE r.id = commit_turn.run_id AND r.fence = commit_turn.fence AND r.status = 'in_progress'
        RETURNING r.* INTO run;
        IF FOUND THEN
            INSERT INTO turns (id, tenant_id, user_id, run_id, number, attempt, text, calls, finish_reason,
                input_tokens, output_tokens, latency_ms, more)
            VALUES (turn_id, tenant, member, commit_turn.run_id, run.turns, attempt, text, calls, finish_reason,
                input_tokens, output_tokens, latency_ms, more);
            PERFORM record_calls(call_rows, entries);
            PERFORM settle_turn(run, usage, (
                SELECT jsonb_agg(c -> 'tool_name') FROM jsonb_array_elements(call_rows) c));
        END IF;
    END IF;
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION commit_turn FROM PUBLIC;
GRANT EXECUTE ON FUNCTION commit_turn TO toolgate_app;
