-- Stores the vectors of texts that were taken, where the text is still the one that was embedded. Takes tenant and
-- author; the source, which is stored with how many numbers a vector has; and as arrays in the same order the
-- embeddings' ids, their revisions, and their vectors, each as one JSON array of numbers. Returns how many were stored.
-- Called by workers (app). Locks the rows until the transaction ends.
CREATE OR REPLACE FUNCTION store_embeddings(
    tenant uuid, member uuid, source text, ids uuid[], revisions int4[], vectors text[])
    RETURNS int4 LANGUAGE plpgsql AS $$
DECLARE
    stored int4;
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    UPDATE embeddings e SET vector = given.vector, model = source || ' ' || cardinality(given.vector), tries = 0,
        next_at = NULL
    FROM (SELECT u.id, u.revision, translate(u.vector, '[]', '{}')::real[] AS vector
        FROM unnest(ids, revisions, vectors) AS u (id, revision, vector)) AS given
    WHERE e.tenant_id = tenant AND e.author_id = member AND e.id = given.id AND e.revision = given.revision;
    GET DIAGNOSTICS stored = ROW_COUNT;
    RETURN stored;
END $$;
REVOKE EXECUTE ON FUNCTION store_embeddings FROM PUBLIC;
GRANT EXECUTE ON FUNCTION store_embeddings TO toolgate_app;
