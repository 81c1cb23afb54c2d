-- Make one month's partition of `tool_calls`, with the row security of its parent, granted to nobody. Takes any day of
-- the month. Returns false when the partition exists. What the default partition has of the month, since it came before
-- the partition did, moves into it. Called by the sweeper and by retention (system). Locks `tool_calls` and its default
-- partition exclusively until the transaction ends; waits at most a second for that, and raises lock_not_available.
CREATE OR REPLACE FUNCTION make_tool_call_month(month date) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    name text := tool_call_month_name(month);
    low uuid := tool_call_month_floor(month);
    high uuid := tool_call_month_floor((month + interval '1 month')::date);
    columns text;
    strays boolean;
BEGIN
    IF to_regclass(name) IS NOT NULL THEN RETURN false; END IF;
    -- Whoever waits for this lock has everybody behind them; the next hour is soon enough.
    PERFORM set_config('lock_timeout', '1s', true);
    LOCK TABLE ONLY tool_calls IN ACCESS EXCLUSIVE MODE;
    SELECT EXISTS (SELECT FROM tool_calls_default WHERE id >= low AND id < high) INTO strays;
    IF strays THEN
        SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
        WHERE attrelid = 'tool_calls'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
        CREATE TEMP TABLE tool_call_strays AS SELECT * FROM tool_calls_default WHERE id >= low AND id < high;
        DELETE FROM tool_calls_default WHERE id >= low AND id < high;
    END IF;
    EXECUTE format('CREATE TABLE %I PARTITION OF tool_calls FOR VALUES FROM (%L) TO (%L)', name, low, high);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY app ON %I TO toolgate_app USING (tenant_id = '
        '(SELECT nullif(current_setting(''toolgate.tenant'', true), '''')::uuid))', name);
    IF strays THEN
        EXECUTE format('INSERT INTO tool_calls (%1$s) SELECT %1$s FROM pg_temp.tool_call_strays', columns);
        DROP TABLE pg_temp.tool_call_strays;
    END IF;
    RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION make_tool_call_month FROM PUBLIC;
GRANT EXECUTE ON FUNCTION make_tool_call_month TO toolgate_system;
