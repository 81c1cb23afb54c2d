-- Remember in one conversation what another one of the same user has read: what is told from one to the other carries
-- it along. Takes tenant and member; from which conversation; to which; and the run of that one that is told, if any.
-- Returns nothing.
-- Called by web and workers (app), within the transaction that commits what is told. Locks the rows that it writes.
CREATE OR REPLACE FUNCTION flow_taint(
    tenant uuid, member uuid, from_conversation uuid, to_conversation uuid, to_run uuid
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF from_conversation IS NULL OR to_conversation IS NULL OR from_conversation = to_conversation THEN RETURN; END IF;
    INSERT INTO taint_sources AS t (tenant_id, user_id, conversation_id, label, source, run_id, call_id, read_at)
    SELECT tenant, member, to_conversation, f.label, f.source, to_run, f.call_id, f.read_at
    FROM taint_sources f WHERE f.tenant_id = tenant AND f.conversation_id = from_conversation
    ORDER BY f.label, f.source
    ON CONFLICT (tenant_id, conversation_id, label, source) DO UPDATE
        SET run_id = excluded.run_id, call_id = excluded.call_id, read_at = excluded.read_at
        WHERE t.read_at < excluded.read_at;
EXCEPTION WHEN foreign_key_violation THEN
    NULL;
END $$;
REVOKE EXECUTE ON FUNCTION flow_taint FROM PUBLIC;
GRANT EXECUTE ON FUNCTION flow_taint TO toolgate_app;
