-- The limits of a tenant's requests per minute: of the tenant, of each person, of each key; NULL where there is none.
-- The operator's ceiling bounds each of them, and is the tenant's own where its owners have set none.
-- Called by the functions that authenticate, and by web for sessions (app, operator): before a tenant is known. Reads
-- past row security. Locks nothing.
CREATE OR REPLACE FUNCTION request_limits_of(of_tenant uuid) RETURNS integer[]
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT coalesce(
        (SELECT ARRAY[least(l.per_tenant, l.ceiling), least(l.per_person, l.ceiling), least(l.per_key, l.ceiling)]
        FROM request_limits l WHERE l.tenant_id = of_tenant), '{NULL,NULL,NULL}')
$$;
REVOKE EXECUTE ON FUNCTION request_limits_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION request_limits_of TO toolgate_app, toolgate_operator;
