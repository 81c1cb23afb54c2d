-- The first 48 bits of an id: of a UUIDv7, its milliseconds since 1970. Anybody may call it; it reads nothing.
CREATE OR REPLACE FUNCTION uuid_v7_milliseconds(id uuid) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT ('x' || replace(left(id::text, 13), '-', ''))::bit(48)::bigint
$$;
