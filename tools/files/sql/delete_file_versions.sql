-- Deletes a file of the user and tenant that the transaction has set, or what a tool left of it, with all its versions.
-- Takes its id, and the version that was seen (NULL: any). Returns deleted, changed (it has another version), busy
-- (somebody holds it) or none. Its path stays, as a number that goes on counting. Called by web (app). Locks the
-- conversation against deletion, the file, the tenant's total, and the conversation's, in this order.
CREATE OR REPLACE FUNCTION delete_file_versions(wanted uuid, seen integer)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '3s' AS $$
DECLARE
    tenant uuid := nullif(current_setting('toolgate.tenant', true), '')::uuid;
    person uuid := nullif(current_setting('toolgate.user', true), '')::uuid;
    there files;
BEGIN
    -- First, and where there is a row already: a trigger of it holds the conversation.
    INSERT INTO file_workspaces (conversation_id, tenant_id, bytes, files)
    SELECT f.conversation_id, f.tenant_id, 0, 0 FROM files f
    WHERE f.tenant_id = tenant AND f.user_id = person AND f.id = wanted ON CONFLICT DO NOTHING;
    SELECT * INTO there FROM files f
    WHERE f.tenant_id = tenant AND f.user_id = person AND f.id = wanted AND (NOT f.deleted OR EXISTS (
        SELECT FROM file_versions v WHERE v.tenant_id = tenant AND v.file_id = f.id)) FOR UPDATE;
    IF there.id IS NULL THEN
        RETURN 'none';
    END IF;
    IF seen <> there.version THEN
        RETURN 'changed';
    END IF;
    UPDATE files f SET version = f.version + 1, deleted = true, size = 0, hash = NULL, taint = '{}',
        updated_at = statement_timestamp()
    WHERE f.id = wanted;
    DELETE FROM file_versions v WHERE v.tenant_id = tenant AND v.file_id = wanted;
    RETURN 'deleted';
EXCEPTION
    WHEN lock_not_available THEN
        RETURN 'busy';
END $$;
REVOKE EXECUTE ON FUNCTION delete_file_versions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_file_versions TO toolgate_app;
