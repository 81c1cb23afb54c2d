-- The version of a tenant's rights: while it is the same, so are memberships, settings, grants, rules and agents. Takes
-- the tenant's id. A tenant whose rights never changed has the version of zeros.
-- Anybody may call it, and sees the version of their own tenant. Locks nothing.
CREATE OR REPLACE FUNCTION rights_version(of_tenant uuid) RETURNS uuid LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (SELECT version FROM rights_versions WHERE tenant_id = of_tenant), '00000000-0000-0000-0000-000000000000')
$$;
