-- Renew the leases of the calls that a worker runs, of whatever tenants.
-- Takes the calls' ids, the fences that they were claimed under (an array each, of the same length and order), and for
-- how many seconds. Returns the ids of the calls that the worker still has: claimed or running under that fence.
-- Called by workers (app). Locks the renewed rows until the transaction ends, and waits for no lock: a row that the
-- worker's own transaction holds locked needs no renewal, and must not keep the others from theirs. Nor does a call that
-- has begun a run: nobody would renew its lease later, and the call would be taken for lost.
CREATE OR REPLACE FUNCTION renew_call_leases(ids uuid[], fences integer[], seconds integer) RETURNS SETOF uuid
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH held AS (
        SELECT r.id, r.fence FROM tool_calls r JOIN unnest(ids, fences) AS held (id, fence) USING (id, fence)
        WHERE r.status IN ('claimed', 'running')), free AS (
        SELECT r.id FROM tool_calls r JOIN held USING (id, fence)
        WHERE r.status IN ('claimed', 'running') AND r.waits_on_run IS NULL FOR UPDATE OF r SKIP LOCKED), renewed AS (
        UPDATE tool_calls r SET lease_until = now() + make_interval(secs => seconds)
        FROM free WHERE r.id = free.id RETURNING r.id)
    SELECT id FROM held
$$;
REVOKE EXECUTE ON FUNCTION renew_call_leases FROM PUBLIC;
GRANT EXECUTE ON FUNCTION renew_call_leases TO toolgate_app;
