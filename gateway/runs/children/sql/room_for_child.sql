-- Whether a run may begin another child, and what it has left for it. Takes tenant and member; the run; how deep a tree
-- may be, and how many children a run may have.
-- Returns one row: `outcome` is `room`, or `over` when the run is not open, `deep`, or `wide`; the run's row; and how many
-- turns and seconds it has left.
-- Called by whoever drives the run (app), in the transaction that begins the child, with its call locked. Locks the run's
-- row until the transaction ends: of two children that begin at once the second counts the first, and who cancels the
-- run finds both.
CREATE OR REPLACE FUNCTION room_for_child(tenant uuid, member uuid, run_id uuid, deepest int4, widest int4)
    RETURNS TABLE (outcome text, run runs, turns int4, seconds float8) LANGUAGE plpgsql AS $$
BEGIN
    SELECT r.* INTO run FROM runs r WHERE r.id = room_for_child.run_id AND r.user_id = member FOR NO KEY UPDATE;
    outcome := CASE
        WHEN NOT FOUND OR run.status NOT IN ('in_progress', 'waiting', 'requires_action') THEN 'over'
        WHEN run.depth >= deepest THEN 'deep'
        WHEN (SELECT count(*) FROM runs r WHERE r.parent_run_id = run.id) >= widest THEN 'wide'
        ELSE 'room' END;
    turns := (run.profile ->> 'max_turns')::int4 - run.turns;
    seconds := (run.profile ->> 'max_seconds')::float8 - (run.spent_ms + charged_ms(run.id)) / 1000.0
        - coalesce(extract(epoch FROM now() - run.resumed_at), 0);
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION room_for_child FROM PUBLIC;
GRANT EXECUTE ON FUNCTION room_for_child TO toolgate_app;
