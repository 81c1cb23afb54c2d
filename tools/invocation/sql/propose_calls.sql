-- Record calls that belong to no run. Takes tenant and member, the version of the rights that the calls were evaluated
-- by and until when those hold (`rights_hold`), and what `record_calls` takes. Returns false, and writes nothing, when
-- the rights are others by now.
-- Called by web and workers (app). Locks nothing but what it writes.
CREATE OR REPLACE FUNCTION propose_calls(
    tenant uuid, member uuid, version uuid, valid_until timestamptz, calls jsonb, entries jsonb
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    IF NOT rights_hold(tenant, version, valid_until) THEN RETURN false; END IF;
    PERFORM record_calls(calls, entries);
    RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION propose_calls FROM PUBLIC;
GRANT EXECUTE ON FUNCTION propose_calls TO toolgate_app;
