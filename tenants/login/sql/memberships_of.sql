-- List the tenants of a user, before one is chosen. Takes the user's id; returns a row for each membership, the oldest
-- first: the tenant's id, slug and name, the user's role in it, and whether it asks for a second factor.
-- Called by web and by the admin (app, operator). Reads past row security; locks nothing.
CREATE OR REPLACE FUNCTION memberships_of(given uuid)
    RETURNS TABLE (tenant_id uuid, slug text, name text, role text, second_factor boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT m.tenant_id, t.slug, t.name, m.role, t.second_factor_required
    FROM memberships m JOIN tenants t ON t.id = m.tenant_id
    WHERE m.user_id = given ORDER BY m.created_at, t.slug
$$;
REVOKE EXECUTE ON FUNCTION memberships_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memberships_of TO toolgate_app, toolgate_operator;
