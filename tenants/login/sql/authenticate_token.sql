-- Authenticate an access token, before its tenant is known. Takes the token's SHA-256 hash. Returns one row about the
-- grant, its tenant with the limits of its requests, its user and the user's role; no row when the token is unknown or
-- expired, or its user is inactive or no member any more. Called by web (app). Reads past row security; locks nothing.
CREATE OR REPLACE FUNCTION authenticate_token(given bytea)
    RETURNS TABLE (grant_id uuid, tenant_id uuid, tenant_slug text, user_id uuid, username text, role text,
                   scopes text[], resource text, last_used_at timestamptz, limits integer[])
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT g.id, g.tenant_id, s.slug, g.user_id, u.username, m.role, t.scopes, g.resource, g.last_used_at,
        request_limits_of(g.tenant_id)
    FROM client_tokens t
    JOIN client_grants g ON g.tenant_id = t.tenant_id AND g.id = t.grant_id
    JOIN memberships m ON m.tenant_id = g.tenant_id AND m.user_id = g.user_id
    JOIN users u ON u.id = g.user_id AND u.is_active
    JOIN tenants s ON s.id = g.tenant_id
    WHERE t.hash = given AND t.kind = 'access' AND t.expires_at > now()
$$;
REVOKE EXECUTE ON FUNCTION authenticate_token FROM PUBLIC;
GRANT EXECUTE ON FUNCTION authenticate_token TO toolgate_app;
