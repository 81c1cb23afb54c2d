-- What a run is charged of its children's time, in milliseconds: of each of its turns the longest of those that ended.
-- Takes the run's id. Returns 0 without children.
-- Called by functions and statements about runs (app), within the tenant that they have set. Locks nothing.
CREATE OR REPLACE FUNCTION charged_ms(run_id uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(longest), 0)::bigint FROM (
        SELECT max(r.spent_ms) AS longest FROM runs r JOIN tool_calls c ON c.id = r.parent_call_id
        WHERE r.parent_run_id = charged_ms.run_id AND r.finished_at IS NOT NULL GROUP BY c.turn) of_turns
$$;
REVOKE EXECUTE ON FUNCTION charged_ms FROM PUBLIC;
GRANT EXECUTE ON FUNCTION charged_ms TO toolgate_app;
