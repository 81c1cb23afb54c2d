-- The memories that fit some words best, of those that are given to the user of the transaction: their own, those of
-- them with an agent, and the tenant's; none where no user is set. Takes the words as people type them ("a phrase",
-- -without, or), the agent's slug ('' for none, NULL for every agent of theirs) and how many are wanted. Returns them
-- best first. Where no memory has all the words, those with any of them, unless the words say more than that. Ranks the
-- newest 2,000 that fit. Called by web and workers (app). Locks nothing. Row-level security would have every memory of
-- the tenant read before its words are looked at, since it trusts no operator of text search.
CREATE OR REPLACE FUNCTION find_memories(words text, of_agent text, wanted integer)
    RETURNS TABLE (memory_id uuid, content text, tags text[], scope text, agent text, taint text[], source_call_id uuid,
        created_at timestamptz, author_id uuid)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    tenant uuid := nullif(current_setting('toolgate.tenant', true), '')::uuid;
    person uuid := nullif(current_setting('toolgate.user', true), '')::uuid;
    spoken regconfig; given tsquery; asked tsquery;
BEGIN
    IF tenant IS NULL OR person IS NULL THEN
        RETURN;
    END IF;
    SELECT u.language::regconfig INTO spoken FROM users u WHERE u.id = person;
    spoken := coalesce(spoken, 'english');
    given := ('''seen=' || tenant || ''' | ' || CASE
        WHEN of_agent IS NULL THEN '''person=' || person || ''''
        ELSE '''seen=' || person || ''' | ''seen=' || person || '=' || md5(of_agent) || '''' END)::tsquery;
    asked := websearch_to_tsquery(spoken, words) || websearch_to_tsquery('simple', words);
    IF numnode(asked) > 0 AND words !~ '"|(^|\s)-' AND NOT EXISTS (
        SELECT 1 FROM memories m WHERE m.terms @@ (given && asked) AND m.tenant_id = tenant
    ) THEN
        SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', '|')::tsquery INTO asked
        FROM unnest(to_tsvector(spoken, words) || to_tsvector('simple', words));
    END IF;
    IF asked IS NULL OR numnode(asked) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT m.id, m.content, m.tags, m.scope::text, m.agent, m.taint, m.source_call_id, m.created_at, m.author_id
        FROM (
            SELECT fitting.id, ts_rank_cd(terms, asked) AS rank FROM (
                SELECT f.id, f.terms FROM memories f
                WHERE f.terms @@ (given && asked) AND f.tenant_id = tenant
                    AND (f.user_id = person OR f.user_id IS NULL)
                ORDER BY f.created_at DESC LIMIT 2000) fitting
            ORDER BY rank DESC, fitting.id LIMIT wanted) best
        JOIN memories m ON m.id = best.id ORDER BY best.rank DESC, m.created_at DESC, m.id;
END $$;
REVOKE EXECUTE ON FUNCTION find_memories FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_memories TO toolgate_app;
