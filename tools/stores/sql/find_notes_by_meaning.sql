-- The notes that fit some words best, by the words themselves and by their meaning, of the user and tenant that the
-- transaction has set; none where it has set none. Takes the words and how many notes are wanted, as `find_notes`; the
-- vector of the words and the source that it is of; and the least likeness (the inner product of unit vectors) that
-- counts. Returns what `find_notes` does, best first by reciprocal rank fusion: a note's places in the two orders
-- count, and neither order's scale does. Of each order three times as many places as are wanted are looked at: what is
-- in the middle of both comes before what is far ahead in one. Compares the vector with all of the user's, so none is
-- missed.
-- Needs the extension vector, in public. Called by web and workers (app). Locks nothing.
CREATE OR REPLACE FUNCTION find_notes_by_meaning(
    words text, wanted integer, meaning real[], source text, least_likeness double precision)
    RETURNS TABLE (note_id uuid, title text, snippet text, created_at timestamptz, taint text[])
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
            SELECT f.note_id AS id, f.snippet, f.place FROM find_notes(words, 3 * wanted)
                WITH ORDINALITY AS f (note_id, title, snippet, created_at, taint, place)
        ), alike AS MATERIALIZED (
            -- Materialized, so that each vector is compared once. The CASE: vectors of another length cannot be compared.
            SELECT e.note_id AS id, CASE WHEN e.model = made_by
                THEN -(e.vector::vector <#> meaning::vector) END AS likeness
            FROM embeddings e
            WHERE e.tenant_id = tenant AND e.user_id = person AND e.note_id IS NOT NULL AND e.model = made_by
        ), by_meaning AS (
            SELECT a.id, row_number() OVER (ORDER BY a.likeness DESC, a.id) AS place FROM alike a
            WHERE a.likeness >= least_likeness ORDER BY a.likeness DESC, a.id LIMIT 3 * wanted
        )
        SELECT n.id, n.title, coalesce(w.snippet, CASE WHEN length(n.content) <= 240 THEN n.content
            ELSE left(n.content, 240) || '…' END), n.created_at, n.taint
        FROM by_words w FULL JOIN by_meaning m ON m.id = w.id
        JOIN notes n ON n.id = coalesce(w.id, m.id) AND n.tenant_id = tenant AND n.user_id = person
        ORDER BY coalesce(1.0 / (60 + w.place), 0) + coalesce(1.0 / (60 + m.place), 0) DESC, n.created_at DESC, n.id
        LIMIT wanted;
END $$;
REVOKE EXECUTE ON FUNCTION find_notes_by_meaning FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_notes_by_meaning TO toolgate_app;
