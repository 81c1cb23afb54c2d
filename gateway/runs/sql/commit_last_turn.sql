-- Commit a turn that suggests no calls, and end its run, under the driver's fence: the turn, the assistant's message,
-- the run's end, its notifications, and the way back to the run from its client's transcript. Takes tenant and member;
-- the run and its fence; the turn's columns; what it used (`settle_turn`); the run's end, with the message's content;
-- and the digest of the transcript (NULL: nobody comes back by it).
-- Returns the run's new row and whether there are notifications to deliver; no row, and nothing is written, when the
-- run is not this driver's any more.
-- Called by web and workers (app). Locks the run's row, and the windows of the budgets that the turn had reserved of,
-- until the transaction ends.
CREATE OR REPLACE FUNCTION commit_last_turn(
    tenant uuid, member uuid, run_id uuid, fence int4, turn_id uuid, attempt int4, text text, calls int4,
    finish_reason text, input_tokens int8, output_tokens int8, latency_ms int4, more text,
    usage jsonb, status text, content text, incomplete_reason text, error_code text, error_message text,
    error_status int4, digest bytea
) RETURNS TABLE (run runs, notified boolean) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    UPDATE runs r SET turns = r.turns + 1, input_tokens = r.input_tokens + commit_last_turn.input_tokens,
        output_tokens = r.output_tokens + commit_last_turn.output_tokens,
        cost = r.cost + coalesce((usage ->> 'cost')::numeric, 0), status = commit_last_turn.status,
        incomplete_reason = commit_last_turn.incomplete_reason, error_code = commit_last_turn.error_code,
        error_message = commit_last_turn.error_message, error_status = commit_last_turn.error_status,
        finished_at = now(), lease_until = NULL
    WHERE r.id = commit_last_turn.run_id AND r.fence = commit_last_turn.fence AND r.status = 'in_progress'
    RETURNING r.* INTO run;
    IF NOT FOUND THEN RETURN; END IF;
    INSERT INTO turns (id, tenant_id, user_id, run_id, number, attempt, text, calls, finish_reason, input_tokens,
        output_tokens, latency_ms, more)
    VALUES (turn_id, tenant, member, run.id, run.turns, attempt, text, calls, finish_reason, input_tokens,
        output_tokens, latency_ms, more);
    PERFORM settle_turn(run, usage, NULL);
    INSERT INTO messages (id, tenant_id, user_id, conversation_id, run_id, role, content)
    VALUES (run.message_id, tenant, member, run.conversation_id, run.id, 'assistant', content);
    PERFORM remember_answer(tenant, member, run.id, digest) WHERE digest IS NOT NULL;
    notified := publish_run(run);
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION commit_last_turn FROM PUBLIC;
GRANT EXECUTE ON FUNCTION commit_last_turn TO toolgate_app;
