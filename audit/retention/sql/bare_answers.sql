-- The answers of the gates without their words, which may quote the arguments. Takes a column `decision` or
-- `resumed_decision`; what is no array stays as it is. Anybody may call it; it reads nothing.
CREATE OR REPLACE FUNCTION bare_answers(answers jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN jsonb_typeof(answers) = 'array' THEN (
        SELECT coalesce(jsonb_agg(answer - ARRAY['model', 'user', 'log', 'field'] ORDER BY place), '[]')
        FROM jsonb_array_elements(answers) WITH ORDINALITY AS of (answer, place)) ELSE answers END
$$;
