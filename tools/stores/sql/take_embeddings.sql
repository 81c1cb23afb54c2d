-- Takes what is to be embedded of one author: notes and memories that are due, and those whose vector is of another
-- source than the one that is asked now. Takes tenant and author, the source, how many are wanted at the most, how many
-- characters of each text, and for how many seconds nobody else is to take them.
-- Returns the embedding's id, the revision that its text is of, and the text. One whose row is gone is not returned.
-- Called by workers (app). Locks the rows that it returns until the transaction ends; passes over those of others.
CREATE OR REPLACE FUNCTION take_embeddings(
    tenant uuid, member uuid, source text, wanted int4, longest int4, seconds int4)
    RETURNS TABLE (id uuid, revision int4, words text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    UPDATE embeddings e SET next_at = now(), tries = 0
    WHERE e.tenant_id = tenant AND e.author_id = member AND e.next_at IS NULL
        AND rtrim(e.model, '0123456789') <> source || ' ';
    RETURN QUERY
        WITH due AS (
            SELECT d.id FROM embeddings d
            WHERE d.tenant_id = tenant AND d.author_id = member AND d.next_at <= now()
            ORDER BY d.next_at LIMIT wanted FOR UPDATE SKIP LOCKED
        ), taken AS (
            UPDATE embeddings e SET tries = e.tries + 1, next_at = now() + make_interval(secs => seconds)
            FROM due WHERE e.id = due.id RETURNING e.id, e.revision, e.note_id, e.memory_id
        )
        SELECT t.id, t.revision, left(CASE WHEN t.note_id IS NULL
            THEN concat_ws(E'\n', m.content, array_to_string(m.tags, ' '))
            ELSE concat_ws(E'\n', n.title, n.content, array_to_string(n.tags, ' ')) END, longest)
        FROM taken t
        LEFT JOIN notes n ON n.tenant_id = tenant AND n.id = t.note_id
        LEFT JOIN memories m ON m.tenant_id = tenant AND m.id = t.memory_id
        WHERE n.id IS NOT NULL OR m.id IS NOT NULL;
END $$;
REVOKE EXECUTE ON FUNCTION take_embeddings FROM PUBLIC;
GRANT EXECUTE ON FUNCTION take_embeddings TO toolgate_app;
