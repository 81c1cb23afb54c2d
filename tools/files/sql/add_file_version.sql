-- A new version of a path in a conversation's workspace, of the user and tenant that the transaction has set.
-- Takes the path in its normal form, the content with its type and whether it is text, the call that writes it, the
-- version that it replaces (NULL: any; 0: there must be none), what its writer has read beside the conversation (labels
-- of taint), and how many bytes a conversation and a tenant may have.
-- Returns as outcome: written, same (it holds this content already), changed (it has another version), too_many
-- (files), conversation_full, tenant_full, busy (the tenant's bytes cannot be counted now), no_conversation; nothing is
-- written but for the first. Called by web and workers (app). Locks the conversation against deletion, the file, the
-- tenant's total, and the conversation's, in this order.
CREATE OR REPLACE FUNCTION add_file_version(
    conversation uuid, wanted text, body bytea, kind text, is_plain boolean, call uuid, replaced integer,
    also_read text[], most_in_conversation bigint, most_in_tenant bigint)
    RETURNS TABLE (outcome text, file uuid, version integer)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '3s' AS $$
DECLARE
    tenant uuid := nullif(current_setting('toolgate.tenant', true), '')::uuid;
    person uuid := nullif(current_setting('toolgate.user', true), '')::uuid;
    most_files CONSTANT integer := 20000;
    most_versions CONSTANT integer := 100;
    there files; digest bytea := sha256(body); bytes_new integer := length(body);
    total bigint; paths integer; labels text[];
BEGIN
    IF tenant IS NULL OR person IS NULL THEN
        RAISE EXCEPTION 'no tenant is set';
    END IF;
    -- First: a trigger of it holds the conversation.
    INSERT INTO file_workspaces (conversation_id, tenant_id, bytes, files)
    VALUES (conversation, tenant, 0, 0) ON CONFLICT DO NOTHING;
    INSERT INTO files (id, tenant_id, user_id, conversation_id, path, version, deleted, size, media_type, plain)
    VALUES (gen_random_uuid(), tenant, person, conversation, wanted, 0, true, 0, kind, is_plain)
    ON CONFLICT (tenant_id, conversation_id, path) DO NOTHING;
    SELECT * INTO there FROM files f
    WHERE f.tenant_id = tenant AND f.user_id = person AND f.conversation_id = conversation AND f.path = wanted FOR UPDATE;
    IF there.id IS NULL THEN
        RAISE SQLSTATE 'TGF01' USING MESSAGE = 'no_conversation';
    END IF;
    file := there.id;
    version := CASE WHEN there.deleted THEN 0 ELSE there.version END;
    IF replaced <> version THEN
        RAISE SQLSTATE 'TGF01' USING MESSAGE = 'changed';
    END IF;
    IF NOT there.deleted AND there.hash = digest THEN
        outcome := 'same';
        RETURN NEXT;
        RETURN;
    END IF;
    INSERT INTO file_totals (tenant_id, bytes) VALUES (tenant, 0) ON CONFLICT DO NOTHING;
    PERFORM FROM file_totals t WHERE t.tenant_id = tenant FOR UPDATE;
    DELETE FROM file_versions v
    WHERE v.tenant_id = tenant AND v.file_id = there.id AND v.version <= there.version + 1 - most_versions;
    UPDATE file_workspaces w SET bytes = w.bytes + bytes_new, files = w.files + (there.version = 0)::integer
    WHERE w.tenant_id = tenant AND w.conversation_id = conversation RETURNING w.bytes, w.files INTO total, paths;
    IF (paths <= most_files) IS NOT TRUE THEN
        RAISE SQLSTATE 'TGF01' USING MESSAGE = 'too_many';
    END IF;
    IF (total <= most_in_conversation) IS NOT TRUE THEN
        RAISE SQLSTATE 'TGF01' USING MESSAGE = 'conversation_full';
    END IF;
    INSERT INTO file_blobs (id, tenant_id, hash, size, content)
    VALUES (gen_random_uuid(), tenant, digest, bytes_new, body) ON CONFLICT (tenant_id, hash) DO NOTHING;
    IF FOUND THEN
        UPDATE file_totals t SET bytes = t.bytes + bytes_new WHERE t.tenant_id = tenant RETURNING t.bytes INTO total;
        IF (total <= most_in_tenant) IS NOT TRUE THEN
            RAISE SQLSTATE 'TGF01' USING MESSAGE = 'tenant_full';
        END IF;
    END IF;
    version := there.version + 1;
    -- What a text was made from is not known, so it may hold all that was read before it, and what it replaces.
    labels := ARRAY(
        SELECT DISTINCT unnest(also_read || taint_labels(conversation) || CASE WHEN NOT there.deleted THEN there.taint END)
        ORDER BY 1);
    INSERT INTO file_versions
        (id, tenant_id, user_id, conversation_id, file_id, version, hash, size, media_type, plain, call_id, taint)
    VALUES (gen_random_uuid(), tenant, person, conversation, file, version, digest, bytes_new, kind, is_plain, call,
        labels);
    UPDATE files f SET version = add_file_version.version, deleted = false, size = bytes_new, media_type = kind,
        plain = is_plain, hash = digest, taint = labels, updated_at = statement_timestamp()
    WHERE f.id = file;
    outcome := 'written';
    RETURN NEXT;
EXCEPTION
    WHEN SQLSTATE 'TGF01' THEN
        outcome := SQLERRM;
        RETURN NEXT;
    WHEN lock_not_available THEN
        outcome := 'busy';
        RETURN NEXT;
    WHEN foreign_key_violation THEN
        outcome := 'no_conversation';
        RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION add_file_version FROM PUBLIC;
GRANT EXECUTE ON FUNCTION add_file_version TO toolgate_app;
