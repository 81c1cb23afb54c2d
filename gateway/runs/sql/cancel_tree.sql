-- Cancel a run and every run below it that is open, from the root of that tree to its leaves. Takes tenant and member;
-- the run; and whether it is spared itself. Raises the fences, so that no driver of theirs writes anything any more.
-- Returns the new row of each run that was open, the ones above first, and whether it has notifications to deliver; no
-- row when the run is not the member's, or nothing of it is open.
-- A child begins in a transaction that holds the row of its parent and finds that open (`begin_child`), and a level is
-- looked for after the rows above it were locked: so none begins behind this function's back.
-- Called by web and workers (app). Locks the runs' rows, level by level and in the order of their ids.
CREATE OR REPLACE FUNCTION cancel_tree(tenant uuid, member uuid, run_id uuid, spared boolean)
    RETURNS TABLE (run runs, notified boolean) LANGUAGE plpgsql AS $$
DECLARE
    level uuid[] := ARRAY[run_id];
    next uuid;
BEGIN
    IF coalesce(current_setting('toolgate.tenant', true), '') = '' THEN
        PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    END IF;
    WHILE level IS NOT NULL LOOP
        FOREACH next IN ARRAY level LOOP
            CONTINUE WHEN spared AND next = cancel_tree.run_id;
            UPDATE runs r SET status = 'cancelled', fence = r.fence + 1, finished_at = now(), lease_until = NULL,
                open_calls = NULL
            WHERE r.id = next AND r.user_id = member AND r.status IN ('in_progress', 'waiting', 'requires_action')
            RETURNING r.* INTO run;
            CONTINUE WHEN NOT FOUND;
            notified := publish_run(run);
            RETURN NEXT;
        END LOOP;
        level := (SELECT array_agg(r.id ORDER BY r.id) FROM runs r
            WHERE r.parent_run_id = ANY (level) AND r.user_id = member);
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION cancel_tree FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cancel_tree TO toolgate_app;
