-- Change a user's language and time zone. Takes the user's id and both; the caller has checked that they exist. Returns
-- nothing. Called by web (app), for the user who asks. Writes past row security; locks the user's row until the
-- transaction ends.
CREATE OR REPLACE FUNCTION change_profile(given uuid, spoken text, zone text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE users SET language = spoken, time_zone = zone WHERE id = given
$$;
REVOKE EXECUTE ON FUNCTION change_profile FROM PUBLIC;
GRANT EXECUTE ON FUNCTION change_profile TO toolgate_app;
