-- The words of a text as they are searched for, in their order. Letters and digits make words, everything else parts
-- them; in lower case, at most 64 characters each. Chinese and Japanese know no spaces: each character is a word.
-- Null for null. Anybody may call it; it reads nothing. The index `tool_calls_terms` is made of it: see `call_terms`.
CREATE OR REPLACE FUNCTION words_of(given text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF octet_length(given) <> length(given) THEN
        given := regexp_replace(normalize(given, NFKC),
            '([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])', ' \1 ', 'g');
    END IF;
    given := regexp_replace(lower(given COLLATE public.of_words), '[^[:alnum:]]+', ' ', 'g');
    IF given ~ '[^ ]{65}' THEN
        given := regexp_replace(given, '([^ ]{64})[^ ]+', '\1', 'g');
    END IF;
    RETURN array_remove(string_to_array(given, ' '), '');
END $$;
