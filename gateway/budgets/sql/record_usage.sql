-- Write what a turn of a run used. Takes the run, the turn, {model, input, output, cached, cost, input_rate,
-- output_rate, price}, the tools that it called (NULL: none), and whether the numbers are those that were reserved.
-- Returns nothing. Called by other functions (app), in their transaction. Locks nothing but what it writes.
CREATE OR REPLACE FUNCTION record_usage(run runs, turn int4, usage jsonb, tools jsonb, estimated boolean) RETURNS void
    LANGUAGE sql AS $$
    INSERT INTO turn_usage (tenant_id, user_id, agent_id, key_id, run_id, turn, model, input_tokens, output_tokens,
        cached_tokens, cost, input_rate, output_rate, price, tools, estimated)
    VALUES (run.tenant_id, run.user_id, run.agent_id, run.key_id, run.id, turn, usage ->> 'model',
        (usage -> 'input')::int8, (usage -> 'output')::int8, (usage -> 'cached')::int8, (usage ->> 'cost')::numeric,
        (usage ->> 'input_rate')::numeric, (usage ->> 'output_rate')::numeric, coalesce(usage ->> 'price', ''), tools,
        estimated)
$$;
REVOKE EXECUTE ON FUNCTION record_usage FROM PUBLIC;
GRANT EXECUTE ON FUNCTION record_usage TO toolgate_app;
