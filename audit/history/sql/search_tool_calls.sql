-- `look_up_tool_calls` of every tenant, for the operator, who may read them all; nobody but the owner may read a
-- month's partition. Same arguments and results. Called by the admin (operator). Locks nothing.
CREATE OR REPLACE FUNCTION search_tool_calls(filters jsonb, low uuid, high uuid, newest boolean, wanted integer)
    RETURNS SETOF uuid LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT look_up_tool_calls(filters, low, high, newest, wanted)
$$;
REVOKE EXECUTE ON FUNCTION search_tool_calls FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_tool_calls TO toolgate_operator;
