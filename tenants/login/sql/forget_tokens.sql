-- Delete what OAuth clients cannot use any more: tokens that expired, grants that have no token left, and clients that
-- nobody granted anything for 30 days, but for the operator's. Returns nothing.
-- Called by the sweeper (system). Writes past row security; locks grants and then their tokens, as whatever ends a grant
-- does. It waits for no grant: one that is used or ended in this moment is left for the next time.
CREATE OR REPLACE FUNCTION forget_tokens() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
        WITH held AS MATERIALIZED (
            SELECT g.tenant_id, g.id FROM client_grants g
            WHERE (g.tenant_id, g.id) IN (SELECT t.tenant_id, t.grant_id FROM client_tokens t WHERE t.expires_at < now())
            FOR UPDATE SKIP LOCKED
        )
        DELETE FROM client_tokens t USING held g
        WHERE t.tenant_id = g.tenant_id AND t.grant_id = g.id AND t.expires_at < now();
        DELETE FROM client_grants WHERE id IN (
            SELECT g.id FROM client_grants g
            WHERE NOT EXISTS (SELECT FROM client_tokens t WHERE t.tenant_id = g.tenant_id AND t.grant_id = g.id)
                AND g.created_at < now() - interval '1 hour'
            FOR UPDATE SKIP LOCKED
        );
        DELETE FROM allauth_idp_oidc_client c
        WHERE c.data ->> 'source' IN ('document', 'registration') AND c.created_at < now() - interval '30 days'
            AND NOT EXISTS (SELECT FROM client_grants g WHERE g.client_id = c.id);
    END
$$;
REVOKE EXECUTE ON FUNCTION forget_tokens FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forget_tokens TO toolgate_system;
