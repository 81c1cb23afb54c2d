-- Change a user's password. Takes the user's id, the hash of the password that they have, and the new hash; returns
-- whether it was changed: not when the password is another one by now. Called by web and by the admin (app, operator).
-- Writes past row security; locks the user's row until the transaction ends.
CREATE OR REPLACE FUNCTION change_password(given uuid, present text, wanted text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
        UPDATE users SET password = wanted WHERE id = given AND password = present;
        RETURN FOUND;
    END
$$;
REVOKE EXECUTE ON FUNCTION change_password FROM PUBLIC;
GRANT EXECUTE ON FUNCTION change_password TO toolgate_app, toolgate_operator;
