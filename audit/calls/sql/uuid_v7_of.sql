-- The smallest id whose first 48 bits are these milliseconds; the largest such number where they are more. Anybody may
-- call it; it reads nothing.
CREATE OR REPLACE FUNCTION uuid_v7_of(milliseconds bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT rpad(lpad(to_hex(least(milliseconds, (1::bigint << 48) - 1)), 12, '0'), 32, '0')::uuid
$$;
