-- Triggers `rights_changed_on_…` of the tables that say what members may do, after a row came, changed or went: the
-- tenant's rights have another version from now on. The column that names the tenant is the trigger's argument;
-- `tenant_id` without one. It runs at the end of the transaction, once for each tenant that is concerned: whoever
-- changes rights locks nothing but the version, after everything else, so that no two of them wait for each other.
-- Reads and writes past row security. Locks the tenant's row of `rights_versions`.
CREATE OR REPLACE FUNCTION rights_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    named text := coalesce(TG_ARGV[0], 'tenant_id');
BEGIN
    -- A tenant that went has no version.
    INSERT INTO rights_versions (tenant_id, version)
    SELECT t.id, gen_random_uuid() FROM tenants t
    WHERE t.id IN ((to_jsonb(OLD) ->> named)::uuid, (to_jsonb(NEW) ->> named)::uuid) ORDER BY t.id
    ON CONFLICT (tenant_id) DO UPDATE SET version = excluded.version
    WHERE rights_versions.xmin <> pg_current_xact_id()::xid;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION rights_changed FROM PUBLIC;
