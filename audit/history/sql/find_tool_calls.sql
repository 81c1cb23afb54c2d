-- `look_up_tool_calls` within the tenant that the transaction has set; nothing where it has set none. Same arguments
-- and results. Called by web (app). Locks nothing. Row-level security would have every row of the tenant read before
-- its words are looked at, since it trusts no operator of text search.
CREATE OR REPLACE FUNCTION find_tool_calls(filters jsonb, low uuid, high uuid, newest boolean, wanted integer)
    RETURNS SETOF uuid LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT look_up_tool_calls(filters || jsonb_build_object('tenant_id', tenant), low, high, newest, wanted)
    FROM nullif(current_setting('toolgate.tenant', true), '') tenant WHERE tenant IS NOT NULL
$$;
REVOKE EXECUTE ON FUNCTION find_tool_calls FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_tool_calls TO toolgate_app;
