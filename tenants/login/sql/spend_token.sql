-- Spend a client's authorization code or refresh token ("code" or "refresh"), which works once. Takes its SHA-256 hash
-- and the client that presents it. Returns one row about its grant; no row when it is unknown, expired, another
-- client's, or its user is inactive or no member any more. One that was spent before may be stolen: its grant ends,
-- with all tokens of it. Called by web (app). Reads and writes past row security; locks the grant's row and then the
-- token's, as whatever ends a grant does, so of two at once one spends it.
CREATE OR REPLACE FUNCTION spend_token(given bytea, expected text, presented_by text)
    RETURNS TABLE (grant_id uuid, tenant_id uuid, user_id uuid, username text, scopes text[], resource text,
                   details jsonb)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
        PERFORM FROM client_grants g JOIN client_tokens t ON t.tenant_id = g.tenant_id AND t.grant_id = g.id
        WHERE t.hash = given AND t.kind = expected AND g.client_id = presented_by FOR UPDATE OF g;
        RETURN QUERY
            UPDATE client_tokens t SET spent_at = now()
            FROM client_grants g
            JOIN memberships m ON m.tenant_id = g.tenant_id AND m.user_id = g.user_id
            JOIN users u ON u.id = g.user_id AND u.is_active
            WHERE t.hash = given AND t.kind = expected AND t.spent_at IS NULL AND t.expires_at > now()
                AND g.tenant_id = t.tenant_id AND g.id = t.grant_id AND g.client_id = presented_by
            RETURNING g.id, g.tenant_id, g.user_id, u.username::text, t.scopes::text[], g.resource::text, t.details;
        IF NOT FOUND THEN
            DELETE FROM client_grants g USING client_tokens t
            WHERE t.hash = given AND t.kind = expected AND t.spent_at IS NOT NULL
                AND g.tenant_id = t.tenant_id AND g.id = t.grant_id AND g.client_id = presented_by;
        END IF;
    END
$$;
REVOKE EXECUTE ON FUNCTION spend_token FROM PUBLIC;
GRANT EXECUTE ON FUNCTION spend_token TO toolgate_app;
