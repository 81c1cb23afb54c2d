-- Trigger `connection_ended` of `connections`, after a row went, whatever deleted it: a user, a member's or a service's
-- end, a service that moved. Where its server can be told, it is to be told that the tokens are not used any more.
-- Reads and writes past row security. Locks nothing but what it writes.
CREATE OR REPLACE FUNCTION connection_ended() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO token_revocations (id, tenant_id, server, client_id, client_secret, access_token, refresh_token,
        attempts, due_at, created_at)
    SELECT gen_random_uuid(), OLD.tenant_id, OLD.server, OLD.client_id, OLD.client_secret, OLD.access_token,
        OLD.refresh_token, 0, now(), now()
    WHERE coalesce(OLD.server ->> 'revocation_endpoint', '') <> ''
        AND (OLD.access_token <> '' OR OLD.refresh_token <> '');
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION connection_ended FROM PUBLIC;
