-- Puts back texts that were taken and not embedded: they are due again after some seconds, twice as many after each try
-- up to six hours, or, where `counts` is false, after these seconds as if nobody had tried. Takes tenant and author,
-- the embeddings' ids with the revisions that were taken, the seconds, and `counts`. Returns nothing.
-- Called by workers (app). Locks the rows until the transaction ends.
CREATE OR REPLACE FUNCTION put_back_embeddings(
    tenant uuid, member uuid, ids uuid[], revisions int4[], seconds int4, counts boolean)
    RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    UPDATE embeddings e SET tries = e.tries - CASE WHEN counts THEN 0 ELSE 1 END, next_at = now() + make_interval(
        secs => least(21600, seconds * CASE WHEN counts THEN 2 ^ least(e.tries, 16) ELSE 1 END))
    FROM unnest(ids, revisions) AS given (id, revision)
    WHERE e.tenant_id = tenant AND e.author_id = member AND e.id = given.id AND e.revision = given.revision
        AND e.next_at IS NOT NULL;
END $$;
REVOKE EXECUTE ON FUNCTION put_back_embeddings FROM PUBLIC;
GRANT EXECUTE ON FUNCTION put_back_embeddings TO toolgate_app;
