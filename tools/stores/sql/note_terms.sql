-- What a note is found by: the words of its title, tags and text in its language, and whose it is. A term with "=" is
-- no word's. The column `notes.terms` is made of it: a migration that changes its results must make the column anew.
-- Takes columns of `notes`; `language` names a text search configuration. Anybody may call it; it reads nothing.
CREATE OR REPLACE FUNCTION note_terms(language text, title text, content text, tags text[], user_id uuid)
    RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT setweight(to_tsvector(language::regconfig, left(title, 500)), 'A')
        || setweight(to_tsvector('simple'::regconfig, left(concat_ws(' ', VARIADIC tags), 5000)), 'B')
        || to_tsvector(language::regconfig, left(content, 100000))
        || array_to_tsvector(ARRAY['user=' || user_id])
$$;
