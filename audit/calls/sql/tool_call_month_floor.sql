-- The smallest id that a call of a month can have, in UTC. Takes any day of the month. Anybody may call it; it reads
-- nothing.
CREATE OR REPLACE FUNCTION tool_call_month_floor(month date) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT uuid_v7_floor(date_trunc('month', month::timestamp) AT TIME ZONE 'UTC')
$$;
