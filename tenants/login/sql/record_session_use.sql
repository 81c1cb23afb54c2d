-- Note that a session was used now. Takes its key, its user, when they logged in, and the address and the name of their
-- browser; returns nothing. A session that has ended meanwhile is not noted.
-- Called by web and by the admin (app, operator). Writes past row security; locks the session's rows until the end of
-- the transaction.
CREATE OR REPLACE FUNCTION record_session_use(
    given text, whose uuid, began timestamptz, from_address text, from_agent text
) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO user_sessions AS known (id, session_key, user_id, address, agent, created_at, last_used_at)
    SELECT gen_random_uuid(), s.session_key, whose, from_address, from_agent, began, now()
    FROM (SELECT session_key FROM django_session WHERE session_key = given FOR KEY SHARE) s
    ON CONFLICT (session_key) DO UPDATE
        SET user_id = whose, address = from_address, agent = from_agent, created_at = began, last_used_at = now()
$$;
REVOKE EXECUTE ON FUNCTION record_session_use FROM PUBLIC;
GRANT EXECUTE ON FUNCTION record_session_use TO toolgate_app, toolgate_operator;
