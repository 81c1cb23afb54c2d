-- The months that are due to be dropped: before this one and the `keep` months before it. Returns the first day of
-- each, the oldest first, of partitions and of calls in the default partition; none when `keep` is less than 1. Called
-- by retention (system). Locks nothing.
CREATE OR REPLACE FUNCTION old_tool_call_months(keep integer) RETURNS SETOF date
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH kept AS (
        SELECT (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => keep))::date AS since)
    SELECT month FROM (
        SELECT to_date(right(c.relname, 7), 'YYYY_MM') AS month FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'tool_calls'::regclass AND c.relname ~ '^tool_calls_[0-9]{4}_[0-9]{2}$'
        UNION
        SELECT date_trunc('month', to_timestamp(
            ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) AT TIME ZONE 'UTC')::date
        FROM tool_calls_default, kept WHERE id < tool_call_month_floor(kept.since)) AS months, kept
    WHERE keep >= 1 AND month < kept.since ORDER BY month
$$;
REVOKE EXECUTE ON FUNCTION old_tool_call_months FROM PUBLIC;
GRANT EXECUTE ON FUNCTION old_tool_call_months TO toolgate_system;
