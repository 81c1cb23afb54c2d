-- Hold an old month as it is until the transaction ends, and count its calls. Takes the month's first day, and how many
-- months are to be kept. Returns a row for each tenant that has calls in it: how many, the first id of the month, and
-- the first id after it. Raises insufficient_privilege for a month that is to be kept, and
-- object_not_in_prerequisite_state where calls are not final or entries not sealed. Called by retention (system). Locks
-- the month's partition against writers; waits at most a second for that, and raises lock_not_available.
CREATE OR REPLACE FUNCTION hold_tool_call_month(month date, keep integer)
    RETURNS TABLE (tenant_id uuid, calls bigint, low uuid, high uuid)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    name text := tool_call_month_name(month);
    first uuid := tool_call_month_floor(month);
    after uuid := tool_call_month_floor((month + interval '1 month')::date);
    found boolean;
BEGIN
    IF coalesce(keep, 0) < 1 OR month >=
        (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => keep))::date THEN
        RAISE EXCEPTION 'the calls of % are to be kept', month USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM set_config('lock_timeout', '1s', true);
    EXECUTE format('LOCK TABLE %I IN SHARE ROW EXCLUSIVE MODE', name);
    EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE status NOT IN (''success'', ''error''))', name)
        INTO found;
    IF found THEN
        RAISE EXCEPTION 'calls of % are not final', month USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF EXISTS (SELECT FROM ledger_entries e
               WHERE e.leaf_index IS NULL AND e.call_id >= first AND e.call_id < after) THEN
        RAISE EXCEPTION 'entries of % are not sealed', month
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT tenant_id, count(*), %L::uuid, %L::uuid FROM %I GROUP BY tenant_id', first, after, name);
END $$;
REVOKE EXECUTE ON FUNCTION hold_tool_call_month FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hold_tool_call_month TO toolgate_system;
