-- Remember what a conversation has read, and from where: a set that only grows. Takes tenant and member, whom the
-- transaction is restricted to, unless its caller has restricted it; the conversation (NULL for a call without one,
-- which leaves nothing); the run in which it was read, if any; the labels, some of "private" and "untrusted"; what the
-- source is named, such as a tool, of which the newest call is remembered; and that call, if it was one. Returns
-- nothing. A conversation that is deleted meanwhile remembers nothing.
-- Called by web and workers (app), within the transaction that commits what was read. Locks the rows that it writes.
CREATE OR REPLACE FUNCTION add_taint(
    tenant uuid, member uuid, conversation uuid, run uuid, labels text[], named text, call uuid
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF conversation IS NULL OR coalesce(cardinality(labels), 0) = 0 THEN RETURN; END IF;
    IF coalesce(current_setting('toolgate.tenant', true), '') = '' THEN
        PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    END IF;
    -- In one order, so that two calls of a turn wait for each other instead of deadlocking.
    INSERT INTO taint_sources AS t (tenant_id, user_id, conversation_id, label, source, run_id, call_id, read_at)
    SELECT tenant, member, conversation, each, named, run, call, clock_timestamp()
    FROM (SELECT DISTINCT unnest(labels) AS each) read ORDER BY each
    ON CONFLICT (tenant_id, conversation_id, label, source)
        DO UPDATE SET run_id = excluded.run_id, call_id = excluded.call_id, read_at = excluded.read_at;
EXCEPTION WHEN foreign_key_violation THEN
    NULL;
END $$;
REVOKE EXECUTE ON FUNCTION add_taint FROM PUBLIC;
GRANT EXECUTE ON FUNCTION add_taint TO toolgate_app;
