-- Whether a run may begin another child, and what it has left for it. Takes tenant and member; the run; the call that
-- begins the child; the names of the tools whose calls begin children; how deep a tree may be, and how many children a
-- run may have.
-- Returns one row: `outcome` is `room`, or `over` when the run is not open, `deep`, or `wide`; the run's row; how many
-- turns and seconds it has left; and its tokens and US dollars for this child (NULL: it has no such limit): what it has
-- left, divided evenly between itself, this child and those that other calls of the turn have yet to begin.
-- Called by whoever drives the run (app), in the transaction that begins the child, with its call locked. Locks the
-- run's row until the transaction ends: of two children that begin at once the second counts the first, and who cancels
-- the run finds both.
CREATE OR REPLACE FUNCTION room_for_child(
    tenant uuid, member uuid, run_id uuid, call_id uuid, beginning text[], deepest int4, widest int4
) RETURNS TABLE (outcome text, run runs, turns int4, seconds float8, tokens int8, usd numeric)
    LANGUAGE plpgsql AS $$
DECLARE
    shares int8;
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
    IF run.profile ->> 'max_run_tokens' IS NOT NULL OR run.profile ->> 'max_run_usd' IS NOT NULL THEN
        SELECT 2 + count(*) INTO shares FROM tool_calls c
        WHERE c.run_id = run.id AND c.turn = run.turns AND c.id <> room_for_child.call_id AND c.tool_name = ANY (beginning)
            AND c.status NOT IN ('success', 'error') AND c.waits_on_run IS NULL;
        tokens := ((run.profile ->> 'max_run_tokens')::int8 - run_tokens(run.id)) / shares;
        usd := trunc(((run.profile ->> 'max_run_usd')::numeric - run_usd(run.id)) / shares, 6);
    END IF;
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION room_for_child FROM PUBLIC;
GRANT EXECUTE ON FUNCTION room_for_child TO toolgate_app;
