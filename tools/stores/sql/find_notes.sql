-- The notes that fit some words best, of the user and tenant that the transaction has set; none where it has set none.
-- Takes the words as people type them ("a phrase", -without, or) and how many notes are wanted. Returns them best
-- first, with a piece of the text around the words, and what the conversation had read in which each was saved. Where
-- no note has all the words, those with any of them, unless the words say more than that. Ranks the newest 2,000 that
-- fit. Called by web and workers (app). Locks nothing. Row-level security would have every note of the tenant read
-- before its words are looked at, since it trusts no operator of text search.
CREATE OR REPLACE FUNCTION find_notes(words text, wanted integer)
    RETURNS TABLE (note_id uuid, title text, snippet text, created_at timestamptz, taint text[])
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    tenant uuid := nullif(current_setting('toolgate.tenant', true), '')::uuid;
    person uuid := nullif(current_setting('toolgate.user', true), '')::uuid;
    spoken regconfig; own tsquery; asked tsquery;
BEGIN
    IF tenant IS NULL OR person IS NULL THEN
        RETURN;
    END IF;
    SELECT u.language::regconfig INTO spoken FROM users u WHERE u.id = person;
    spoken := coalesce(spoken, 'english');
    own := ('''user=' || person || '''')::tsquery;
    asked := websearch_to_tsquery(spoken, words) || websearch_to_tsquery('simple', words);
    IF numnode(asked) > 0 AND words !~ '"|(^|\s)-' AND NOT EXISTS (
        SELECT 1 FROM notes n WHERE n.terms @@ (own && asked) AND n.tenant_id = tenant AND n.user_id = person
    ) THEN
        SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', '|')::tsquery INTO asked
        FROM unnest(to_tsvector(spoken, words) || to_tsvector('simple', words));
    END IF;
    IF asked IS NULL OR numnode(asked) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT n.id, n.title, CASE WHEN length(n.content) <= 240 THEN n.content ELSE
            ts_headline(n.language::regconfig, left(n.content, 20000), asked,
                'StartSel="", StopSel="", MaxFragments=2, MinWords=6, MaxWords=24, FragmentDelimiter=" … "') END,
            n.created_at, n.taint
        FROM (
            SELECT fitting.id, ts_rank_cd(terms, asked) AS rank FROM (
                SELECT f.id, f.terms FROM notes f
                WHERE f.terms @@ (own && asked) AND f.tenant_id = tenant AND f.user_id = person
                ORDER BY f.created_at DESC LIMIT 2000) fitting
            ORDER BY rank DESC, fitting.id LIMIT wanted) best
        JOIN notes n ON n.id = best.id ORDER BY best.rank DESC, n.created_at DESC, n.id;
END $$;
REVOKE EXECUTE ON FUNCTION find_notes FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_notes TO toolgate_app;
