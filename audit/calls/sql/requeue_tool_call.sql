-- Give a call back to the queue, if it still has one of the `sources` as its status and the fence `was`; the attempt
-- counts, under its fence. Takes tenant and member, whom the transaction is restricted to, unless its
-- caller has restricted it. Returns whether it did.
-- Called by workers and the sweeper (app). Locks the row.
CREATE OR REPLACE FUNCTION requeue_tool_call(
    tenant uuid, member uuid, call uuid, sources text[], was integer, fence integer, attempt integer,
    started_at timestamptz)
    RETURNS boolean LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
BEGIN
    IF coalesce(current_setting('toolgate.tenant', true), '') = '' THEN
        PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    END IF;
    UPDATE tool_calls c SET status = 'queued', lease_until = NULL, queued_at = now(), fence = fence, attempt = attempt,
        started_at = started_at
    WHERE c.id = call AND c.status = ANY(sources) AND c.fence = was;
    RETURN FOUND;
END $$;
REVOKE EXECUTE ON FUNCTION requeue_tool_call FROM PUBLIC;
GRANT EXECUTE ON FUNCTION requeue_tool_call TO toolgate_app;
