-- Take a queued call, and begin it: it is running from then on, under the next fence and a lease of so many seconds.
-- A call that a kill switch stops is not begun, which this statement decides.
-- Takes tenant and member, whom the transaction is restricted to, unless its caller has restricted it. Returns the
-- call's row, or none when it is not queued (any more). Of a call that is stopped: the row, unchanged in the table,
-- with the fence that it gets by being settled, `killed` as its error's code, and the switch as the message.
-- Called by workers (app); committed before the first byte of an effect leaves. Locks the row.
CREATE OR REPLACE FUNCTION claim_tool_call(tenant uuid, member uuid, call uuid, seconds double precision)
    RETURNS SETOF tool_calls LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    stopped tool_calls;
    switch jsonb;
BEGIN
    IF coalesce(current_setting('toolgate.tenant', true), '') = '' THEN
        PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    END IF;
    RETURN QUERY UPDATE tool_calls c SET status = 'running', fence = c.fence + 1, attempt = c.attempt + 1,
        lease_until = now() + make_interval(secs => seconds), started_at = coalesce(c.started_at, clock_timestamp())
    WHERE c.id = call AND c.status = 'queued' AND killed(c.user_id, c.tool_name, c.agent, c.model) IS NULL
    RETURNING c.*;
    IF FOUND THEN RETURN; END IF;
    SELECT c.* INTO stopped FROM tool_calls c WHERE c.id = call AND c.status = 'queued';
    IF FOUND THEN
        switch := killed(stopped.user_id, stopped.tool_name, stopped.agent, stopped.model);
        -- Ended a moment ago: the call's message is sent again.
        IF switch IS NULL THEN RETURN; END IF;
        stopped.fence := stopped.fence + 1;
        stopped.error_code := 'killed';
        stopped.error_message := switch::text;
        RETURN NEXT stopped;
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION claim_tool_call FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_tool_call TO toolgate_app;
