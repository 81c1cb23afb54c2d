-- Keep the way from a transcript, as its client sees it up to an answer, to the run that made the answer. Takes tenant
-- and member, the run, and the transcript's digest. Returns nothing.
-- Called by web and workers (app), within the transaction that commits the answer. Locks the way's row until the
-- transaction ends.
CREATE OR REPLACE FUNCTION remember_answer(tenant uuid, member uuid, run uuid, digest bytea) RETURNS void
    LANGUAGE sql AS $$
    INSERT INTO continuations (id, tenant_id, user_id, digest, run_id)
    VALUES (gen_random_uuid(), tenant, member, digest, run)
    ON CONFLICT (tenant_id, user_id, digest) DO UPDATE SET run_id = excluded.run_id, created_at = now()
$$;
REVOKE EXECUTE ON FUNCTION remember_answer FROM PUBLIC;
GRANT EXECUTE ON FUNCTION remember_answer TO toolgate_app;
