-- The budget that refuses a run before its first turn, if one does: it is spent, or it is of money and nobody knows the
-- price of the model. What others have reserved refuses nobody here.
-- Takes tenant and member, the run's agent and key (each may be NULL), and whether its model has a price.
-- Returns what `budget_refusal` says, with `unpriced`; NULL when none refuses.
-- Called by `begin_run` (app), in its transaction. Locks nothing.
CREATE OR REPLACE FUNCTION spent_budget(tenant uuid, member uuid, agent uuid, key uuid, priced boolean) RETURNS jsonb
    LANGUAGE sql STABLE AS $$
    SELECT budget_refusal(b, coalesce(w.spent, 0), coalesce(w.reserved, 0))
        || jsonb_build_object('unpriced', coalesce(w.spent, 0) < b.amount)
    FROM budgets b
    LEFT JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at = budget_start(b.period)
    WHERE b.tenant_id = tenant AND (b.user_id IS NULL OR b.user_id = member)
        AND (b.agent_id IS NULL OR b.agent_id = agent) AND (b.key_id IS NULL OR b.key_id = key)
        AND (coalesce(w.spent, 0) >= b.amount OR b.unit = 'usd' AND NOT priced)
    ORDER BY coalesce(w.spent, 0) < b.amount, b.id LIMIT 1
$$;
REVOKE EXECUTE ON FUNCTION spent_budget FROM PUBLIC;
GRANT EXECUTE ON FUNCTION spent_budget TO toolgate_app;
