-- Drop a month that `hold_tool_call_month` holds in this transaction. Takes the same arguments.
-- Returns false when the lock could not be had. Raises insufficient_privilege unless an erasure and an unsealed ledger
-- entry of this hour say for each tenant how many calls go, and what `hold_tool_call_month` raises.
-- Called by retention (system). Locks the partition and `tool_calls` exclusively, which everybody feels: it tries for a
-- tenth of a second at a time, twenty times.
CREATE OR REPLACE FUNCTION drop_tool_call_month(month date, keep integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    name text := tool_call_month_name(month);
    unrecorded uuid;
BEGIN
    SELECT held.tenant_id INTO unrecorded FROM hold_tool_call_month(month, keep) AS held
    WHERE NOT EXISTS (
        SELECT FROM erasures e JOIN ledger_entries l ON l.record_id = e.id AND l.kind = 'dropped'
        WHERE e.tenant_id = held.tenant_id AND l.tenant_id = held.tenant_id AND l.leaf_index IS NULL
            AND e.scope = 'month' AND e.low = held.low AND e.high = held.high AND e.calls = held.calls
            AND e.created_at > now() - interval '1 hour')
    LIMIT 1;
    IF unrecorded IS NOT NULL THEN
        RAISE EXCEPTION 'it is not on record that the calls of % of % go', unrecorded, month
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM set_config('lock_timeout', '100ms', true);
    FOR attempt IN 1..20 LOOP
        BEGIN
            EXECUTE format('DROP TABLE %I', name);
            RETURN true;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.4);
        END;
    END LOOP;
    RETURN false;
END $$;
REVOKE EXECUTE ON FUNCTION drop_tool_call_month FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_tool_call_month TO toolgate_system;
