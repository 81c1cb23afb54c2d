-- Make the partitions of this month (UTC) and of the `ahead` next ones, where they are missing. Returns how many were
-- made. Called by the sweeper (system) and by migrations. Locks what `make_tool_call_month` locks.
CREATE OR REPLACE FUNCTION make_tool_call_partitions(ahead integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    this_month date := date_trunc('month', now() AT TIME ZONE 'UTC')::date;
    made integer := 0;
BEGIN
    FOR i IN 0..ahead LOOP
        made := made + make_tool_call_month((this_month + make_interval(months => i))::date)::integer;
    END LOOP;
    RETURN made;
END $$;
REVOKE EXECUTE ON FUNCTION make_tool_call_partitions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION make_tool_call_partitions TO toolgate_system;
