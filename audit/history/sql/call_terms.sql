-- What a call is found by: its words, and whose it is, of which tool, how it failed and about when it was. A term with
-- "=" is no word's, since words have letters and digits alone.
-- Takes columns of `tool_calls`. Anybody may call it; it reads nothing. The index `tool_calls_terms` is made of it: a
-- migration that changes its results, or those of `words_of`, must reindex. Within an index no schema is on the path.
CREATE OR REPLACE FUNCTION call_terms(id uuid, tenant_id uuid, user_id uuid, tool_name text, error_code text, display text,
    error_message text, input jsonb, input_raw text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 AS $$
DECLARE
    arguments text := left(coalesce(input_raw, input::text), 4096);
BEGIN
    IF strpos(arguments, '\') > 0 THEN
        arguments := regexp_replace(arguments, '\\(u[0-9a-f]{4}|.)', ' ', 'g');
    END IF;
    RETURN array_to_tsvector(
        public.words_of(concat_ws(' ', left(tool_name, 200), left(display, 1000), left(error_message, 1000), arguments))
        || ARRAY['tenant=' || tenant_id, 'user=' || user_id, 'tool=' || left(tool_name, 200),
                 'error=' || coalesce(error_code, ''), 'at=' || left(id::text, 6), 'at=' || left(id::text, 7)]);
END $$;
