-- Note that an API key was used now. Takes the key's id, returns nothing.
-- Called by web and by the admin (app, operator). Locks the key's row until the transaction ends.
CREATE OR REPLACE FUNCTION record_key_use(given uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE api_keys SET last_used_at = now() WHERE id = given
$$;
REVOKE EXECUTE ON FUNCTION record_key_use FROM PUBLIC;
GRANT EXECUTE ON FUNCTION record_key_use TO toolgate_app, toolgate_operator;
