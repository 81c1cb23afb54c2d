-- Stores a memory of the user and tenant that the transaction has set: its id, text and tags, to whom it is given
-- (`user`, `agent` with the agent's slug, `tenant`), the call that writes it with its conversation, whose taint it
-- gets, and how many memories a person and a tenant may have. Returns false, and stores nothing, where there are as
-- many already. Called by workers (app). Locks, until the transaction ends, whoever else stores for the same person, or
-- the tenant.
CREATE OR REPLACE FUNCTION store_memory(
    new_id uuid, words text, with_tags text[], given_to text, of_agent text, call uuid, conversation uuid,
    most_own integer, most_shared integer)
    RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    tenant uuid := nullif(current_setting('toolgate.tenant', true), '')::uuid;
    person uuid := nullif(current_setting('toolgate.user', true), '')::uuid;
    shared boolean := given_to = 'tenant';
    most integer := CASE WHEN given_to = 'tenant' THEN most_shared ELSE most_own END;
    stored bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(
        hashtextextended('memories ' || tenant || CASE WHEN shared THEN '' ELSE person::text END, 0));
    SELECT count(*) INTO stored FROM memories m
        WHERE m.tenant_id = tenant AND CASE WHEN shared THEN m.user_id IS NULL ELSE m.user_id = person END;
    IF stored >= most THEN
        RETURN false;
    END IF;
    INSERT INTO memories (id, tenant_id, user_id, author_id, scope, agent, content, tags, language, taint, source_call_id)
    VALUES (new_id, tenant, CASE WHEN shared THEN NULL ELSE person END, person, given_to, of_agent, words, with_tags,
        coalesce((SELECT u.language FROM users u WHERE u.id = person), 'english'), taint_labels(conversation), call);
    RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION store_memory FROM PUBLIC;
GRANT EXECUTE ON FUNCTION store_memory TO toolgate_app;
