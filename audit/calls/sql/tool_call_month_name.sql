-- The name of a month's partition of `tool_calls`. Takes any day of the month. Anybody may call it; it reads nothing.
CREATE OR REPLACE FUNCTION tool_call_month_name(month date) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'tool_calls_' || lpad(extract(year FROM month)::text, 4, '0') || '_'
        || lpad(extract(month FROM month)::text, 2, '0')
$$;
