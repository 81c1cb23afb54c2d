-- Deletes a file of the user and tenant that the transaction has set for a tool: its versions stay, so that its user
-- can bring it back or delete it for good. Takes its id, and the version that was seen. Returns removed, changed (it
-- has another version), busy (somebody holds it) or none. Its path goes on counting. Called by workers (app). Locks the
-- conversation against deletion, and the file, in this order.
CREATE OR REPLACE FUNCTION remove_file(wanted uuid, seen integer)
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
    WHERE f.tenant_id = tenant AND f.user_id = person AND f.id = wanted AND NOT f.deleted FOR UPDATE;
    IF there.id IS NULL THEN
        RETURN 'none';
    END IF;
    IF (seen = there.version) IS NOT TRUE THEN
        RETURN 'changed';
    END IF;
    UPDATE files f SET version = f.version + 1, deleted = true, size = 0, hash = NULL, updated_at = statement_timestamp()
    WHERE f.id = wanted;
    RETURN 'removed';
EXCEPTION
    WHEN lock_not_available THEN
        RETURN 'busy';
END $$;
REVOKE EXECUTE ON FUNCTION remove_file FROM PUBLIC;
GRANT EXECUTE ON FUNCTION remove_file TO toolgate_app;
