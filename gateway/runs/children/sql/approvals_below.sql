-- The requests that wait for humans below a run. Takes tenant and member, and the run's id. Returns a row for each: the
-- request with its call, the run that asked, and the ids of the runs from the child down to that one.
-- Called by web and workers (app), within the tenant that they have set. Locks nothing.
CREATE OR REPLACE FUNCTION approvals_below(tenant uuid, member uuid, run_id uuid)
    RETURNS TABLE (approval_id uuid, tool_name text, input jsonb, expires_at timestamptz, asked_by uuid, path uuid[])
    LANGUAGE sql STABLE AS $$
    WITH RECURSIVE below AS (
        SELECT r.id, ARRAY[r.id] AS path FROM runs r WHERE r.parent_run_id = approvals_below.run_id
            AND r.status IN ('in_progress', 'waiting', 'requires_action')
        UNION ALL
        SELECT r.id, below.path || r.id FROM runs r JOIN below ON r.parent_run_id = below.id
        WHERE r.status IN ('in_progress', 'waiting', 'requires_action'))
    SELECT a.id, a.tool_name, c.input, a.expires_at, below.id, below.path
    FROM below JOIN approval_requests a ON a.run_id = below.id AND a.status = 'pending'
    JOIN tool_calls c ON c.id = a.call_id ORDER BY below.path, a.id
$$;
REVOKE EXECUTE ON FUNCTION approvals_below FROM PUBLIC;
GRANT EXECUTE ON FUNCTION approvals_below TO toolgate_app;
