-- End sessions of a user: all of them but one. Takes the user's id and the key of the session that goes on, or an empty
-- text; returns how many ended. Called by web and by the admin (app, operator). Writes past row security; locks the
-- sessions' rows until the transaction ends.
CREATE OR REPLACE FUNCTION end_sessions(whose uuid, but text) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH ended AS (
        DELETE FROM django_session WHERE session_key IN (
            SELECT session_key FROM user_sessions WHERE user_id = whose AND session_key <> but
        ) RETURNING 1
    )
    SELECT count(*) FROM ended
$$;
REVOKE EXECUTE ON FUNCTION end_sessions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION end_sessions TO toolgate_app, toolgate_operator;
