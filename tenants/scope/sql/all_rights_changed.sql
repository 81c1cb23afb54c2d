-- Triggers `rights_changed_on_…` of tables whose rows without a tenant say what members of every tenant may do, after a
-- row came, changed or went: the rights of its tenant have another version from now on, or those of every tenant. As
-- `rights_changed`, at the end of the transaction, and with the same argument.
-- Reads and writes past row security. Locks the tenants' rows of `rights_versions`, in the order of ids.
CREATE OR REPLACE FUNCTION all_rights_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    named text := coalesce(TG_ARGV[0], 'tenant_id');
    was uuid := to_jsonb(OLD) ->> named;
    is_now uuid := to_jsonb(NEW) ->> named;
BEGIN
    INSERT INTO rights_versions (tenant_id, version)
    SELECT t.id, gen_random_uuid() FROM tenants t
    WHERE t.id IN (was, is_now) OR (TG_OP <> 'INSERT' AND was IS NULL) OR (TG_OP <> 'DELETE' AND is_now IS NULL)
    ORDER BY t.id
    ON CONFLICT (tenant_id) DO UPDATE SET version = excluded.version
    WHERE rights_versions.xmin <> pg_current_xact_id()::xid;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION all_rights_changed FROM PUBLIC;
