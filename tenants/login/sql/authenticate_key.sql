-- Authenticate an API key, before its tenant is known. Takes the key's SHA-256 hash. Returns one row about the key, its
-- tenant with the limits of its requests, its user and the user's role; no row when the key is unknown, revoked or
-- expired, or its user is inactive or no member any more. Called by web and by the admin (app, operator). Reads past
-- row security; locks nothing.
CREATE OR REPLACE FUNCTION authenticate_key(given bytea)
    RETURNS TABLE (key_id uuid, tenant_id uuid, tenant_slug text, user_id uuid, username text, role text,
                   scopes text[], last_used_at timestamptz, limits integer[])
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT k.id, k.tenant_id, t.slug, k.user_id, u.username, m.role, k.scopes, k.last_used_at,
        request_limits_of(k.tenant_id)
    FROM api_keys k
    JOIN memberships m ON m.tenant_id = k.tenant_id AND m.user_id = k.user_id
    JOIN users u ON u.id = k.user_id AND u.is_active
    JOIN tenants t ON t.id = k.tenant_id
    WHERE k.key_hash = given AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
$$;
REVOKE EXECUTE ON FUNCTION authenticate_key FROM PUBLIC;
GRANT EXECUTE ON FUNCTION authenticate_key TO toolgate_app, toolgate_operator;
