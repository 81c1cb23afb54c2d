-- What counts against the tokens of a run, in and out: what it used, also as far as that is only estimated; what it has
-- reserved for a turn; the same of each run below it that is over, and of one that is open all that it was given.
-- Takes the run's id. Returns 0 of a run that is not there.
-- Called by functions and statements about runs (app), within the tenant that they have set. Locks nothing.
CREATE OR REPLACE FUNCTION run_tokens(run_id uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
    WITH RECURSIVE counted AS (
        SELECT r.id, r.input_tokens + r.output_tokens + r.estimated_tokens AS used, NULL::bigint AS given
        FROM runs r WHERE r.id = run_tokens.run_id
        UNION ALL
        SELECT r.id, r.input_tokens + r.output_tokens + r.estimated_tokens,
            CASE WHEN r.finished_at IS NULL THEN (r.profile ->> 'max_run_tokens')::bigint END
        FROM counted JOIN runs r ON r.parent_run_id = counted.id WHERE counted.given IS NULL)
    SELECT coalesce(sum(coalesce(c.given, c.used + coalesce(
        (t.usage -> 'input')::bigint + (t.usage -> 'output')::bigint, 0))), 0)::bigint
    FROM counted c LEFT JOIN turn_reservations t ON t.run_id = c.id
$$;
REVOKE EXECUTE ON FUNCTION run_tokens FROM PUBLIC;
GRANT EXECUTE ON FUNCTION run_tokens TO toolgate_app;
