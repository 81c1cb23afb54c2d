-- The smallest UUIDv7 of a moment: its milliseconds, and zeros. Anybody may call it; it reads nothing.
CREATE OR REPLACE FUNCTION uuid_v7_floor(moment timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;
