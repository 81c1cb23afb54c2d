-- Bind an Idempotency-Key to the run that it begins. Takes tenant and member, the key, the hash of its request and the
-- run. Raises unique_violation on a key that began a call, or another run.
-- Called by the function that begins a run (app), within its transaction. Waits for another one that binds the key.
-- Locks nothing but what it writes.
CREATE OR REPLACE FUNCTION bind_run(tenant uuid, member uuid, key text, request_hash bytea, run uuid) RETURNS void
    LANGUAGE sql AS $$
    INSERT INTO idempotency_keys (tenant_id, user_id, key, request_hash, run_id)
    VALUES (tenant, member, key, request_hash, run)
$$;
REVOKE EXECUTE ON FUNCTION bind_run FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bind_run TO toolgate_app;
