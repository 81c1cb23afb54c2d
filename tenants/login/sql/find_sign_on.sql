-- Find where people of a domain log in, before their tenant is known. Takes the domain, in lower case; returns the id
-- of the provider and of its tenant, or no row: the operator has to have confirmed that the domain is that tenant's.
-- Called by web (app). Reads past row security; locks nothing.
CREATE OR REPLACE FUNCTION find_sign_on(given text) RETURNS TABLE (tenant_id uuid, provider_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT p.tenant_id, p.id
    FROM sign_on_providers p JOIN confirmed_domains d ON d.domain = p.domain AND d.tenant_id = p.tenant_id
    WHERE p.domain = given AND p.enabled
$$;
REVOKE EXECUTE ON FUNCTION find_sign_on FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_sign_on TO toolgate_app;
