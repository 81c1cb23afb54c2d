-- What a conversation has read so far: the labels "private" and "untrusted", sorted; an empty array for none, and for
-- no conversation. Takes the conversation; its tenant and user are those of the transaction, which sees no others'.
-- Called by web and workers (app). Locks nothing.
CREATE OR REPLACE FUNCTION taint_labels(conversation uuid) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(DISTINCT t.label ORDER BY t.label), '{}')::text[]
    FROM taint_sources t WHERE t.conversation_id = conversation
$$;
REVOKE EXECUTE ON FUNCTION taint_labels FROM PUBLIC;
GRANT EXECUTE ON FUNCTION taint_labels TO toolgate_app;
