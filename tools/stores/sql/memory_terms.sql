-- What a memory is found by: its words in its language and as they are, its tags, and who may find it. A term with "="
-- is no word's: `person=` names who stored it, `seen=` to whom it is given (a person, a person with one agent, or a
-- tenant). The column `memories.terms` is made of it: a migration that changes its results must make the column anew.
-- Takes columns of `memories`; `language` names a text search configuration. Anybody may call it; it reads nothing.
CREATE OR REPLACE FUNCTION memory_terms(
    language text, content text, tags text[], scope text, agent text, tenant_id uuid, author_id uuid)
    RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT setweight(to_tsvector('simple'::regconfig, left(concat_ws(' ', VARIADIC tags), 5000)), 'B')
        || to_tsvector(language::regconfig, left(content, 10000)) || to_tsvector('simple'::regconfig, left(content, 10000))
        || array_to_tsvector(ARRAY['person=' || author_id, 'seen=' || CASE scope
            WHEN 'tenant' THEN tenant_id::text WHEN 'agent' THEN author_id || '=' || md5(agent) ELSE author_id::text END])
$$;
