-- Note that an API key was used now, and to the hour that its member was here. Takes the key's id, returns nothing.
-- Called by web and by the admin (app, operator). Locks the membership's row, if that is written, and then the key's,
-- until the transaction ends: in the order of whoever removes a member.
CREATE OR REPLACE FUNCTION record_key_use(given uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT record_visit(k.tenant_id, k.user_id) FROM api_keys k WHERE k.id = given;
    UPDATE api_keys SET last_used_at = now() WHERE id = given
$$;
REVOKE EXECUTE ON FUNCTION record_key_use FROM PUBLIC;
GRANT EXECUTE ON FUNCTION record_key_use TO toolgate_app, toolgate_operator;
