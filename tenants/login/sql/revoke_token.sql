-- End the grant that an access or refresh token belongs to, with all its tokens. Takes the token's SHA-256 hash and the
-- client that presents it; nothing happens for a token that is unknown or another client's. Returns nothing.
-- Called by web (app). Writes past row security; locks what it deletes.
CREATE OR REPLACE FUNCTION revoke_token(given bytea, presented_by text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM client_grants g USING client_tokens t
    WHERE t.hash = given AND t.kind IN ('access', 'refresh')
        AND g.tenant_id = t.tenant_id AND g.id = t.grant_id AND g.client_id = presented_by
$$;
REVOKE EXECUTE ON FUNCTION revoke_token FROM PUBLIC;
GRANT EXECUTE ON FUNCTION revoke_token TO toolgate_app;
