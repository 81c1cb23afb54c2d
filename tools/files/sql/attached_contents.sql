-- The contents of versions of files of the user and tenant that the transaction has set; none where it has set none.
-- Takes the ids of files and a version for each, in the same order. A version that is gone is left out. Called by web
-- and workers (app). Locks nothing.
CREATE OR REPLACE FUNCTION attached_contents(wanted uuid[], numbers integer[])
    RETURNS TABLE (file uuid, version integer, content bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT DISTINCT v.file_id, v.version, b.content
    FROM unnest(wanted, numbers) AS w (file, version)
    JOIN file_versions v ON v.file_id = w.file AND v.version = w.version
    JOIN file_blobs b ON b.tenant_id = v.tenant_id AND b.hash = v.hash
    WHERE v.tenant_id = nullif(current_setting('toolgate.tenant', true), '')::uuid
        AND v.user_id = nullif(current_setting('toolgate.user', true), '')::uuid
$$;
REVOKE EXECUTE ON FUNCTION attached_contents FROM PUBLIC;
GRANT EXECUTE ON FUNCTION attached_contents TO toolgate_app;
