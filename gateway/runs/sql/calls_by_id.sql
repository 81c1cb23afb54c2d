-- The calls of a turn, as they are now, each with the state of the request that it waits or waited for, and of a parked
-- one what it asks its user; and the version of the tenant's rights, by which the run's next turn begins. Takes tenant
-- and member, and the calls' ids in ascending order: they say in which months the calls are, so that no other month is
-- looked at. Returns a row for each call, in the order in which the model made them.
-- Called by web and workers (app). Locks nothing.
CREATE OR REPLACE FUNCTION calls_by_id(tenant uuid, member uuid, ids uuid[])
    RETURNS TABLE (
        call tool_calls, approval_status text, approval_expires_at timestamptz, approval_used_at timestamptz,
        questions jsonb, version uuid
    ) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    lowest uuid := ids[1];
    highest uuid := ids[cardinality(ids)];
    now_valid uuid;
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    now_valid := rights_version(tenant);
    RETURN QUERY SELECT c, a.status, a.expires_at, a.used_at,
        CASE WHEN c.status = 'running' AND c.lease_until IS NULL THEN open_questions(c.id) END, now_valid
    FROM tool_calls c LEFT JOIN approval_requests a ON a.id = c.approval_id
    WHERE c.id = ANY (ids) AND c.id BETWEEN lowest AND highest ORDER BY c.position;
END $$;
REVOKE EXECUTE ON FUNCTION calls_by_id FROM PUBLIC;
GRANT EXECUTE ON FUNCTION calls_by_id TO toolgate_app;
