-- Trigger `rights_changed_on_update` of `users`, after a user was switched on or off: the rights of their tenants have
-- another version from now on, since rules of an owner who is away approve nothing. As `rights_changed`, at the end of
-- the transaction. Reads and writes past row security. Locks the tenants' rows of `rights_versions`, in the order of
-- ids.
CREATE OR REPLACE FUNCTION user_rights_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO rights_versions (tenant_id, version)
    SELECT m.tenant_id, gen_random_uuid() FROM memberships m WHERE m.user_id = NEW.id ORDER BY m.tenant_id
    ON CONFLICT (tenant_id) DO UPDATE SET version = excluded.version
    WHERE rights_versions.xmin <> pg_current_xact_id()::xid;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION user_rights_changed FROM PUBLIC;
