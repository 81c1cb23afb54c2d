-- Begin a run: the user's message and the run, in progress under fence 1 with a lease, in a new conversation or one of
-- the member's own. Takes tenant and member; the version of the rights that the agent's profile was read with; whether
-- the conversation is new; the columns of the run, the lease in seconds, the user's message, the title of a new
-- conversation, and what the client of a compatible API asked (NULL otherwise); the key that the request came with
-- (NULL with a session), and whether the model has a price; and whether the run has to survive a crash of the database
-- from now on. One that nobody has been told of need not: what comes of it is durable only together with it, since the
-- log is written in order.
-- Returns `begun`, or `begun_budgeted` when the tenant has budgets or the run a limit of tokens or money; or
-- `rights_changed`, `no_conversation`, or which budget refuses it (the JSON of `spent_budget`; {scope: `run`, unpriced}
-- where the run has a limit of money and its model no price), and then writes nothing. Raises
-- unique_violation on a second open run of a conversation (runs_one_open) and on a used idempotency key
-- (idempotency_keys_once). Called by web and workers (app). Locks the conversation's row until the transaction ends.
CREATE OR REPLACE FUNCTION begin_run(
    tenant uuid, member uuid, version uuid, new_conversation boolean, id uuid, conversation_id uuid, message_id uuid,
    user_message_id uuid, agent_id uuid, profile jsonb, model text, surface text, lease int4, idempotency_key text,
    request_hash bytea, content text, title text, request text, key_id uuid, priced boolean,
    durable boolean DEFAULT true
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    budgeted boolean;
    refusal jsonb;
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    IF NOT durable THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
    IF rights_version(tenant) IS DISTINCT FROM version THEN RETURN 'rights_changed'; END IF;
    budgeted := EXISTS (SELECT FROM budgets b WHERE b.tenant_id = tenant);
    IF budgeted THEN
        refusal := spent_budget(tenant, member, agent_id, key_id, priced);
        IF refusal IS NOT NULL THEN RETURN refusal::text; END IF;
    END IF;
    IF profile ->> 'max_run_usd' IS NOT NULL AND NOT priced THEN
        RETURN jsonb_build_object('scope', 'run', 'unpriced', true)::text;
    END IF;
    budgeted := budgeted OR profile ->> 'max_run_tokens' IS NOT NULL OR profile ->> 'max_run_usd' IS NOT NULL;
    IF new_conversation THEN
        INSERT INTO conversations (id, tenant_id, user_id, title) VALUES (conversation_id, tenant, member, title);
    ELSE
        UPDATE conversations c SET updated_at = now() WHERE c.id = conversation_id;
        IF NOT FOUND THEN RETURN 'no_conversation'; END IF;
    END IF;
    INSERT INTO runs (id, tenant_id, user_id, conversation_id, message_id, agent_id, profile, model, surface, status,
        lease_until, resumed_at, idempotency_key, request_hash, key_id, budgeted)
    VALUES (id, tenant, member, conversation_id, message_id, agent_id, profile, model, surface, 'in_progress',
        now() + make_interval(secs => lease), now(), idempotency_key, request_hash, key_id,
        budgeted);
    IF idempotency_key IS NOT NULL THEN
        PERFORM bind_run(tenant, member, idempotency_key, request_hash, id);
    END IF;
    INSERT INTO messages (id, tenant_id, user_id, conversation_id, run_id, role, content)
    VALUES (user_message_id, tenant, member, conversation_id, id, 'user', content);
    IF request IS NOT NULL THEN
        INSERT INTO run_requests (run_id, tenant_id, user_id, request) VALUES (id, tenant, member, request);
    END IF;
    RETURN CASE WHEN budgeted THEN 'begun_budgeted' ELSE 'begun' END;
END $$;
REVOKE EXECUTE ON FUNCTION begin_run FROM PUBLIC;
GRANT EXECUTE ON FUNCTION begin_run TO toolgate_app;
