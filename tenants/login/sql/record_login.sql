-- Note that a user logged in now. Takes the user's id, returns nothing.
-- Called by web and by the admin (app, operator). Locks the user's row until the transaction ends.
CREATE OR REPLACE FUNCTION record_login(given uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE users SET last_login = now() WHERE id = given
$$;
REVOKE EXECUTE ON FUNCTION record_login FROM PUBLIC;
GRANT EXECUTE ON FUNCTION record_login TO toolgate_app, toolgate_operator;
