-- Trigger `rights_changed_on_insert_update_delete` of `kill_switches`: the tenant's rights have another version, of a
-- switch about all tenants those of every tenant. As `rights_changed`, at the end of the transaction.
-- Reads and writes past row security. Locks the tenants' rows of `rights_versions`, in the order of ids.
CREATE OR REPLACE FUNCTION switch_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO rights_versions (tenant_id, version)
    SELECT t.id, gen_random_uuid() FROM tenants t
    WHERE t.id IN (OLD.tenant_id, NEW.tenant_id)
        OR TG_OP <> 'INSERT' AND OLD.tenant_id IS NULL OR TG_OP <> 'DELETE' AND NEW.tenant_id IS NULL
    ORDER BY t.id
    ON CONFLICT (tenant_id) DO UPDATE SET version = excluded.version
    WHERE rights_versions.xmin <> pg_current_xact_id()::xid;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION switch_changed FROM PUBLIC;
