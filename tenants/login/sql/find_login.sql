-- Find who logs in, before their tenant is known. Takes a user name; returns the user's row, or no row.
-- Called by web and by the admin (app, operator). Reads past row security; locks nothing.
CREATE OR REPLACE FUNCTION find_login(given text) RETURNS SETOF users
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT * FROM users WHERE username = given
$$;
REVOKE EXECUTE ON FUNCTION find_login FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_login TO toolgate_app, toolgate_operator;
