-- Trigger of file_versions: deletes the contents that no version refers to any more, and counts them out of their
-- tenant's total, and the versions out of their conversation's. It runs after whatever deletes versions, a cascade
-- included, so no content outlives its last version. Locks the totals of the tenants and conversations concerned, as
-- writers do, so that nobody refers to a content while it goes.
CREATE OR REPLACE FUNCTION free_file_blobs() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM gone) THEN
        RETURN NULL;
    END IF;
    PERFORM FROM file_totals t WHERE t.tenant_id IN (SELECT g.tenant_id FROM gone g) ORDER BY t.tenant_id FOR UPDATE;
    UPDATE file_workspaces w SET bytes = w.bytes - g.bytes
    FROM (SELECT tenant_id, conversation_id, sum(size) AS bytes FROM gone GROUP BY tenant_id, conversation_id) g
    WHERE w.tenant_id = g.tenant_id AND w.conversation_id = g.conversation_id;
    WITH freed AS (
        DELETE FROM file_blobs b USING (SELECT DISTINCT g.tenant_id, g.hash FROM gone g) last
        WHERE b.tenant_id = last.tenant_id AND b.hash = last.hash AND NOT EXISTS (
            SELECT FROM file_versions v WHERE v.tenant_id = b.tenant_id AND v.hash = b.hash)
        RETURNING b.tenant_id, b.size)
    UPDATE file_totals t SET bytes = t.bytes - f.bytes
    FROM (SELECT tenant_id, sum(size) AS bytes FROM freed GROUP BY tenant_id) f WHERE t.tenant_id = f.tenant_id;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION free_file_blobs FROM PUBLIC;
