-- Whether calls that were evaluated by rights may be recorded by them. Takes the tenant, the version of the rights that
-- they were evaluated by, and until when those hold without anybody changing them (NULL: for ever).
-- No version is none that holds.
-- Anybody may call it, and sees the version of their own tenant. Locks nothing.
CREATE OR REPLACE FUNCTION rights_hold(of_tenant uuid, version uuid, valid_until timestamptz) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT coalesce(rights_version(of_tenant) = version, false) AND coalesce(valid_until > now(), true)
$$;
