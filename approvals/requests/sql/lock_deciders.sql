-- Those of the given users who may decide about the tenant's requests now. Takes the tenant, which must be the one that
-- the transaction has set, the users' ids, and the roles that may decide. Returns the ids of active members with one of
-- these roles, in their order. Called by whoever decides (app). Locks the memberships and users FOR SHARE: until the
-- transaction ends nobody demotes, removes or deactivates them, and a change that is under way is waited for.
CREATE OR REPLACE FUNCTION lock_deciders(tenant uuid, given uuid[], roles text[]) RETURNS SETOF uuid
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT m.user_id FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.tenant_id = tenant AND tenant = nullif(current_setting('toolgate.tenant', true), '')::uuid
        AND m.user_id = ANY(given) AND m.role = ANY(roles) AND u.is_active
    ORDER BY m.user_id FOR SHARE OF m, u
$$;
REVOKE EXECUTE ON FUNCTION lock_deciders FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lock_deciders TO toolgate_app;
