-- What is said of a tenant's providers and models, as one JSON object: `providers` are its own and those of the
-- operator that it may use, `settings` its own and the operator's, `offered` the names of the operator's providers that
-- it may use (null: all). NULL where nothing is said at all, which is the same as every provider of the environment.
-- Takes the tenant's id, and answers for no other tenant than the one that the transaction is restricted to. Keys are
-- encrypted. Called by web and workers (app). Reads past row security. Locks nothing.
CREATE OR REPLACE FUNCTION model_routing(of_tenant uuid) RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN of_tenant::text = current_setting('toolgate.tenant', true)
        AND (t.operator_providers IS NOT NULL OR p.rows IS NOT NULL OR s.rows IS NOT NULL)
        THEN jsonb_build_object('providers', coalesce(p.rows, '[]'), 'settings', coalesce(s.rows, '[]'),
            'offered', to_jsonb(t.operator_providers)) END
    FROM tenants t,
        LATERAL (SELECT jsonb_agg(jsonb_build_object('id', m.id, 'own', m.tenant_id IS NOT NULL, 'slug', m.slug,
                'kind', m.kind, 'base_url', m.base_url, 'api_key', m.api_key, 'listed', to_jsonb(m.listed),
                'version', m.version, 'enabled', m.enabled) ORDER BY m.slug, m.tenant_id NULLS LAST) AS rows
            FROM model_providers m WHERE m.tenant_id = t.id OR m.tenant_id IS NULL
                AND (t.operator_providers IS NULL OR m.slug = ANY (t.operator_providers))) p,
        LATERAL (SELECT jsonb_agg(jsonb_build_object('own', m.tenant_id IS NOT NULL, 'allowed', to_jsonb(m.allowed),
                'fallbacks', m.fallbacks, 'prices', m.prices, 'version', m.version)) AS rows
            FROM model_settings m WHERE m.tenant_id = t.id OR m.tenant_id IS NULL) s
    WHERE t.id = of_tenant
$$;
REVOKE EXECUTE ON FUNCTION model_routing FROM PUBLIC;
GRANT EXECUTE ON FUNCTION model_routing TO toolgate_app, toolgate_operator;
