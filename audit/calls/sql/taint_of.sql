-- What a conversation has read so far, and from where: [{label, source, call, at}], each source with its newest call,
-- the newest first; an empty array for none, and for no conversation. Takes the conversation; its tenant and user are
-- those of the transaction, which sees no others'.
-- Called by web and workers (app). Locks nothing.
CREATE OR REPLACE FUNCTION taint_of(conversation uuid) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object('label', t.label, 'source', t.source, 'call', t.call_id, 'at',
        to_char(t.read_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
        ORDER BY t.read_at DESC, t.source, t.label), '[]')
    FROM taint_sources t WHERE t.conversation_id = conversation
$$;
REVOKE EXECUTE ON FUNCTION taint_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION taint_of TO toolgate_app;
