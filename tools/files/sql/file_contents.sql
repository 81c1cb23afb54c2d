-- The contents of files of the user and tenant that the transaction has set; none where it has set none. Takes their
-- ids and a version (NULL: the newest of each). Called by web and workers (app). Locks nothing.
CREATE OR REPLACE FUNCTION file_contents(wanted uuid[], numbered integer)
    RETURNS TABLE (file uuid, content bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT f.id, b.content
    FROM files f
    JOIN file_versions v
        ON v.tenant_id = f.tenant_id AND v.file_id = f.id AND v.version = coalesce(numbered, f.version)
    JOIN file_blobs b ON b.tenant_id = v.tenant_id AND b.hash = v.hash
    WHERE f.id = ANY (wanted) AND NOT f.deleted
        AND f.tenant_id = nullif(current_setting('toolgate.tenant', true), '')::uuid
        AND f.user_id = nullif(current_setting('toolgate.user', true), '')::uuid
$$;
REVOKE EXECUTE ON FUNCTION file_contents FROM PUBLIC;
GRANT EXECUTE ON FUNCTION file_contents TO toolgate_app;
