-- How many tokens a model may answer with, so that its input and they stay within the rest of a budget.
-- Takes the budget's unit and rest; the input's tokens, and how many are wanted of the output; the rates in US dollars
-- per million tokens. Returns the number, up to what is wanted; -1 when not even the input is affordable.
-- Called by `reserve_turn` (app); it reads nothing.
CREATE OR REPLACE FUNCTION tokens_within(
    unit text, rest numeric, input_tokens int8, output_tokens int8, input_rate numeric, output_rate numeric
) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN unit = 'requests' THEN CASE WHEN rest >= 1 THEN output_tokens ELSE -1 END
        WHEN unit = 'tokens' THEN greatest(-1, least(output_tokens, rest - input_tokens))
        WHEN rest * 1000000 < input_tokens * input_rate THEN -1
        WHEN output_rate = 0 THEN output_tokens
        ELSE least(output_tokens, div(rest * 1000000 - input_tokens * input_rate, output_rate)) END
$$;
REVOKE EXECUTE ON FUNCTION tokens_within FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tokens_within TO toolgate_app;
