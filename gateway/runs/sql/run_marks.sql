-- A mark for each of the runs, which changes when the run or one of its calls does, and while it waits, when a run of
-- its tree does: the one query that a process asks every 2 s about all the runs that it waits for, in case a wake-up
-- was lost.
-- Takes the runs' ids. Returns id and mark of each run that exists. Called by web and workers (app). Locks nothing.
CREATE OR REPLACE FUNCTION run_marks(ids uuid[]) RETURNS TABLE (id uuid, mark text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT r.id, concat_ws(' ', r.status, r.fence, r.turns, (
        SELECT string_agg(left(c.status, 2) || c.fence, '' ORDER BY c.id) FROM tool_calls c WHERE c.run_id = r.id),
        CASE WHEN r.status IN ('waiting', 'requires_action') THEN (
            SELECT string_agg(left(d.status, 2) || d.fence, '' ORDER BY d.id) FROM runs d
            WHERE d.root_run_id = coalesce(r.root_run_id, r.id)) END)
    FROM runs r WHERE r.id = ANY (ids)
$$;
REVOKE EXECUTE ON FUNCTION run_marks FROM PUBLIC;
GRANT EXECUTE ON FUNCTION run_marks TO toolgate_app;
