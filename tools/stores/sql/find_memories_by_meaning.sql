-- The memories that fit some words best, by the words themselves and by their meaning, of those that are given to the
-- user of the transaction; none where no user is set. Takes and returns what `find_memories` does, with the vector of
-- the words, its source and the least likeness that counts, as `find_notes_by_meaning`. Compares the vector with those
-- of all memories that are given to the user, so none is missed.
-- Needs the extension vector, in public. Called by web and workers (app). Locks nothing.
CREATE OR REPLACE FUNCTION find_memories_by_meaning(
    words text, of_agent text, wanted integer, meaning real[], source text, least_likeness double precision)
    RETURNS TABLE (memory_id uuid, content text, tags text[], scope text, agent text, taint text[], source_call_id uuid,
        created_at timestamptz, author_id uuid)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    tenant uuid := nullif(current_setting('toolgate.tenant', true), '')::uuid;
    person uuid := nullif(current_setting('toolgate.user', true), '')::uuid;
    made_by text := source || ' ' || cardinality(meaning);
BEGIN
    IF tenant IS NULL OR person IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
        WITH by_words AS (
            SELECT f.memory_id AS id, row_number() OVER () AS place FROM find_memories(words, of_agent, 3 * wanted) f
        ), alike AS MATERIALIZED (
            -- Materialized, so that each vector is compared once. The CASE: vectors of another length cannot be compared.
            SELECT e.memory_id AS id, CASE WHEN e.model = made_by
                THEN -(e.vector::vector <#> meaning::vector) END AS likeness
            FROM embeddings e JOIN memories g ON g.id = e.memory_id AND g.tenant_id = tenant
            WHERE e.tenant_id = tenant AND (e.user_id = person OR e.user_id IS NULL) AND e.model = made_by
                AND (g.user_id = person OR g.user_id IS NULL)
                AND (g.scope <> 'agent' OR of_agent IS NULL OR g.agent = of_agent)
        ), by_meaning AS (
            SELECT a.id, row_number() OVER (ORDER BY a.likeness DESC, a.id) AS place FROM alike a
            WHERE a.likeness >= least_likeness ORDER BY a.likeness DESC, a.id LIMIT 3 * wanted
        )
        SELECT m.id, m.content, m.tags, m.scope::text, m.agent, m.taint, m.source_call_id, m.created_at, m.author_id
        FROM by_words w FULL JOIN by_meaning a ON a.id = w.id
        JOIN memories m ON m.id = coalesce(w.id, a.id) AND m.tenant_id = tenant
        ORDER BY coalesce(1.0 / (60 + w.place), 0) + coalesce(1.0 / (60 + a.place), 0) DESC, m.created_at DESC, m.id
        LIMIT wanted;
END $$;
REVOKE EXECUTE ON FUNCTION find_memories_by_meaning FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_memories_by_meaning TO toolgate_app;
