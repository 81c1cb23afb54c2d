-- What a refusal says of a budget. Takes the budget, and what of it is spent and reserved in its window.
-- Returns {id, scope, unit, window, limit, spent, reserved, retry_after}; the last is in seconds, null of one for ever.
-- Called by other functions (app). Locks nothing.
CREATE OR REPLACE FUNCTION budget_refusal(b budgets, spent numeric, reserved numeric) RETURNS jsonb
    LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('id', b.id, 'unit', b.unit, 'window', b.period, 'limit', b.amount::text,
        'spent', spent::text, 'reserved', reserved::text,
        'scope', CASE WHEN b.user_id IS NOT NULL THEN 'user' WHEN b.agent_id IS NOT NULL THEN 'agent'
            WHEN b.key_id IS NOT NULL THEN 'key' ELSE 'tenant' END,
        'retry_after', CASE WHEN b.period <> 'total' THEN ceil(extract(epoch FROM
            (budget_start(b.period) AT TIME ZONE 'UTC' + ('1 ' || b.period)::interval) AT TIME ZONE 'UTC' - now())) END)
$$;
REVOKE EXECUTE ON FUNCTION budget_refusal FROM PUBLIC;
GRANT EXECUTE ON FUNCTION budget_refusal TO toolgate_app;
