-- Load the user of a session, before their tenant is known. Takes the user's id; returns the user's row, or no row.
-- Called by web and by the admin (app, operator). Reads past row security; locks nothing.
CREATE OR REPLACE FUNCTION load_user(given uuid) RETURNS SETOF users
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT * FROM users WHERE id = given
$$;
REVOKE EXECUTE ON FUNCTION load_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION load_user TO toolgate_app, toolgate_operator;
