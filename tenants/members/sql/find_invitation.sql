-- Find an invitation by its link, before anybody is a member. Takes the SHA-256 hash of the link's token. Returns one
-- row about it while it can be accepted; no row when it is unknown, used, revoked or expired, or who made it is no
-- active owner any more. Called by web (app). Reads past row security; locks nothing.
CREATE OR REPLACE FUNCTION find_invitation(given bytea)
    RETURNS TABLE (id uuid, tenant_id uuid, tenant_name text, email text, role text, inviter text,
                   expires_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT i.id, i.tenant_id, coalesce(nullif(t.name, ''), t.slug), i.email, i.role, u.username, i.expires_at
    FROM invitations i
    JOIN tenants t ON t.id = i.tenant_id
    LEFT JOIN users u ON u.id = i.created_by_id AND u.is_active
    LEFT JOIN memberships m ON m.tenant_id = i.tenant_id AND m.user_id = u.id AND m.role = 'owner'
    WHERE i.token_hash = given AND i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > now()
        AND (i.created_by_id IS NULL OR m.id IS NOT NULL)
$$;
REVOKE EXECUTE ON FUNCTION find_invitation FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_invitation TO toolgate_app;
