-- Hold a tenant and a user against deletion until the transaction ends, for a call without a run: one with a run is
-- held by it, whose conversation has foreign keys to both. Takes their ids. Returns nothing. Raises
-- foreign_key_violation when one of them is gone.
-- Called by those who write calls (app). Reads past row security. Locks both rows in share with everybody but who
-- deletes them.
CREATE OR REPLACE FUNCTION hold_owner(tenant uuid, member uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM tenants t WHERE t.id = tenant FOR KEY SHARE;
    IF FOUND THEN
        PERFORM FROM users u WHERE u.id = member FOR KEY SHARE;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'tenant % or user % is gone', tenant, member USING ERRCODE = 'foreign_key_violation';
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION hold_owner FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hold_owner TO toolgate_app;
