-- Lock a call for the rest of the transaction, in which it has its effect and is settled: a queued one, or with `held`
-- the one that runs under that fence. Takes tenant and member, whom the transaction is restricted to, and how long it
-- may wait for its client's next statement before PostgreSQL ends it: a worker that is stopped keeps no lock. Returns
-- the call's row, or none when there is no such call, or somebody else has a queued one locked; of a queued call with the
-- fence, the attempt and the start that it gets by being settled. Writes nothing: a lost worker leaves the call as it is. Of a
-- queued call that a kill switch stops: with the fence alone, `killed` as its error's code, and the switch as the
-- message.
-- Called by workers (app). Locks the row, and waits for no lock of a queued call: whoever has that executes it, ends it,
-- or sends its message again. The lock of one that runs is waited for: whoever has that renews its lease, or sees that it
-- is not queued any more, and the call would stand still until its lease is over.
CREATE OR REPLACE FUNCTION lock_tool_call(tenant uuid, member uuid, call uuid, held integer, seconds double precision)
    RETURNS SETOF tool_calls LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    locked tool_calls;
    switch jsonb;
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true),
        set_config('idle_in_transaction_session_timeout', (seconds * 1000)::integer::text, true);
    IF held IS NULL THEN
        SELECT c.* INTO locked FROM tool_calls c WHERE c.id = call AND c.status = 'queued'
            FOR NO KEY UPDATE SKIP LOCKED;
    ELSE
        SELECT c.* INTO locked FROM tool_calls c WHERE c.id = call AND c.status = 'running' AND c.fence = held
            FOR NO KEY UPDATE;
    END IF;
    IF FOUND THEN
        IF held IS NULL THEN
            locked.fence := locked.fence + 1;
            switch := killed(locked.user_id, locked.tool_name, locked.agent, locked.model);
            IF switch IS NULL THEN
                locked.attempt := locked.attempt + 1;
                locked.started_at := coalesce(locked.started_at, clock_timestamp());
            ELSE
                locked.error_code := 'killed';
                locked.error_message := switch::text;
            END IF;
        END IF;
        RETURN NEXT locked;
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION lock_tool_call FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lock_tool_call TO toolgate_app;
