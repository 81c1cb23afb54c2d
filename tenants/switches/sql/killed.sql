-- The kill switch that stops a call, in the tenant which the transaction is restricted to; NULL when none does. Takes
-- the member, the tool's name, and the agent's slug and the model of the run, NULL for a call without one. The switch
-- is an object as `switches_on` has it, the operator's and the longest first. `Switch.stops` in Python says the same.
-- Called by the statements that claim calls (app). Reads past row security, since the app does not see what the
-- operator has put on. Locks nothing.
CREATE OR REPLACE FUNCTION killed(member uuid, tool text, agent text, model text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    own uuid := nullif(current_setting('toolgate.tenant', true), '')::uuid;
BEGIN
    -- Most tenants have none that is on, and every call comes here.
    IF NOT EXISTS (
        SELECT FROM kill_switches s
        WHERE (s.tenant_id = own OR s.tenant_id IS NULL) AND (s.until IS NULL OR s.until > now())
    ) THEN RETURN NULL; END IF;
    RETURN (
        SELECT jsonb_build_object('id', s.id, 'kind', s.kind, 'target', s.target, 'reason', s.reason,
            'since', s.created_at, 'until', s.until, 'by_operator', s.by_operator,
            'set_by', CASE WHEN s.by_operator THEN '' ELSE coalesce(u.username, '') END)
        FROM kill_switches s LEFT JOIN users u ON u.id = s.set_by_id
        WHERE (s.tenant_id = own OR s.tenant_id IS NULL)
            AND (s.until IS NULL OR s.until > now())
            AND CASE s.kind
                WHEN 'user' THEN s.target = member::text
                WHEN 'tool' THEN s.target = tool
                WHEN 'service' THEN starts_with(tool, s.target || '.')
                WHEN 'agent' THEN s.target = agent
                WHEN 'model' THEN s.target = model
                    OR right(s.target, 2) = '/*' AND starts_with(model, left(s.target, -1))
                -- The tenant, everything, and a kind of a later release.
                ELSE true END
        ORDER BY s.by_operator DESC, s.until DESC NULLS FIRST LIMIT 1);
END $$;
REVOKE EXECUTE ON FUNCTION killed FROM PUBLIC;
GRANT EXECUTE ON FUNCTION killed TO toolgate_app;
