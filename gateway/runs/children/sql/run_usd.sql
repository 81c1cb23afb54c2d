-- What counts against the money of a run, in US dollars: what its turns cost, also as far as that is only estimated; what
-- it has reserved for a turn; the same of each run below it that is over, and of one that is open all that it was given.
-- Takes the run's id. Returns 0 of a run that is not there.
-- Called by functions and statements about runs (app), within the tenant that they have set. Locks nothing.
CREATE OR REPLACE FUNCTION run_usd(run_id uuid) RETURNS numeric LANGUAGE sql STABLE AS $$
    WITH RECURSIVE counted AS (
        SELECT r.id, r.cost AS used, NULL::numeric AS given FROM runs r WHERE r.id = run_usd.run_id
        UNION ALL
        SELECT r.id, r.cost, CASE WHEN r.finished_at IS NULL THEN (r.profile ->> 'max_run_usd')::numeric END
        FROM counted JOIN runs r ON r.parent_run_id = counted.id WHERE counted.given IS NULL)
    SELECT coalesce(sum(coalesce(c.given, c.used + coalesce((t.usage ->> 'cost')::numeric, 0))), 0)
    FROM counted c LEFT JOIN turn_reservations t ON t.run_id = c.id
$$;
REVOKE EXECUTE ON FUNCTION run_usd FROM PUBLIC;
GRANT EXECUTE ON FUNCTION run_usd TO toolgate_app;
