-- Renew the leases of the runs that a process drives, of whatever tenants.
-- Takes the runs' ids, the fences that they are driven under (an array each, of the same length and order), and for how
-- many seconds. Returns the ids of the runs that nobody else has: those with that fence. One that its driver has just
-- ended or parked is among them: who drives it has things to tell after that commit, and must not be stopped.
-- Called by web and workers (app). Locks the renewed rows until the transaction ends, and waits for no lock: a row that
-- somebody holds locked for a moment must not keep the other runs from their renewal.
CREATE OR REPLACE FUNCTION renew_run_leases(ids uuid[], fences integer[], seconds integer) RETURNS SETOF uuid
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH held AS (
        SELECT r.id, r.fence FROM runs r JOIN unnest(ids, fences) AS held (id, fence) USING (id, fence)), free AS (
        SELECT r.id FROM runs r JOIN held USING (id, fence)
        WHERE r.status = 'in_progress' FOR UPDATE OF r SKIP LOCKED), renewed AS (
        UPDATE runs r SET lease_until = now() + make_interval(secs => seconds)
        FROM free WHERE r.id = free.id RETURNING r.id)
    SELECT id FROM held
$$;
REVOKE EXECUTE ON FUNCTION renew_run_leases FROM PUBLIC;
GRANT EXECUTE ON FUNCTION renew_run_leases TO toolgate_app;
