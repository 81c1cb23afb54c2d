-- The kill switches that are on for the tenant which the transaction is restricted to: its own, the operator's about
-- it, and the operator's about all tenants; NULL when there is none. Each is an object as `tenants.switches.on` reads
-- it. Anybody may call it, and is told of their own tenant. Reads past row security, since the app does not see what
-- the operator has put on. Locks nothing.
CREATE OR REPLACE FUNCTION switches_on() RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT jsonb_agg(jsonb_build_object('id', s.id, 'kind', s.kind, 'target', s.target, 'reason', s.reason,
        'since', s.created_at, 'until', s.until, 'by_operator', s.by_operator,
        'set_by', CASE WHEN s.by_operator THEN '' ELSE coalesce(u.username, '') END) ORDER BY s.created_at, s.id)
    FROM kill_switches s LEFT JOIN users u ON u.id = s.set_by_id
    WHERE (s.tenant_id = nullif(current_setting('toolgate.tenant', true), '')::uuid OR s.tenant_id IS NULL)
        AND (s.until IS NULL OR s.until > now())
$$;
REVOKE EXECUTE ON FUNCTION switches_on FROM PUBLIC;
GRANT EXECUTE ON FUNCTION switches_on TO toolgate_app, toolgate_system, toolgate_operator;
