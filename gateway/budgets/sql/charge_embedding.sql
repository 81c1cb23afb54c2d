-- Charge the most that embedding some texts can use, before the provider is asked: all budgets that apply or none.
-- Embedding is done for a member, by no agent and no key, and is no request to a chat model: budgets of these are not
-- asked. Takes tenant and member, the model, an upper bound of the input's tokens, the rate in US dollars per million
-- tokens (NULL: no price) and whose price that is.
-- Returns one row. `outcome`: `charged`, `spent` or `unpriced`; of the last two `refusal` says which budget
-- (`budget_refusal`), and nothing is charged. `usage_id` is the row of what was used, and `parts` are what each budget
-- was charged, for `settle_embedding`.
-- Called by workers and web (app). Locks the budgets' windows in the order of their ids, until the transaction ends.
CREATE OR REPLACE FUNCTION charge_embedding(
    tenant uuid, member uuid, model text, input_tokens int8, input_rate numeric, price text
) RETURNS TABLE (outcome text, usage_id int8, parts jsonb, refusal jsonb) LANGUAGE plpgsql AS $$
DECLARE
    budget budgets;
    held budget_windows;
    amount numeric;
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    outcome := 'charged';
    parts := '[]';
    FOR budget IN SELECT b.* FROM budgets b
        WHERE b.tenant_id = tenant AND (b.user_id IS NULL OR b.user_id = member)
            AND b.agent_id IS NULL AND b.key_id IS NULL AND b.unit <> 'requests'
        ORDER BY b.id
    LOOP
        INSERT INTO budget_windows (budget_id, tenant_id, starts_at)
        VALUES (budget.id, tenant, budget_start(budget.period)) ON CONFLICT DO NOTHING;
        SELECT * INTO held FROM budget_windows w
        WHERE w.budget_id = budget.id AND w.starts_at = budget_start(budget.period) FOR UPDATE;
        amount := CASE budget.unit WHEN 'usd' THEN 0.000001 * input_tokens * input_rate ELSE input_tokens END;
        IF amount IS NULL OR held.spent + held.reserved + amount > budget.amount THEN
            outcome := CASE WHEN amount IS NULL THEN 'unpriced' ELSE 'spent' END;
            refusal := budget_refusal(budget, held.spent, held.reserved);
            EXIT;
        END IF;
        parts := parts || jsonb_build_array(jsonb_build_array(
            budget.id, budget_start(budget.period), budget.unit, amount));
    END LOOP;
    IF outcome = 'charged' THEN
        UPDATE budget_windows w SET spent = w.spent + (part.value ->> 3)::numeric
        FROM jsonb_array_elements(parts) AS part
        WHERE w.budget_id = (part.value ->> 0)::uuid AND w.starts_at = (part.value ->> 1)::timestamptz;
        INSERT INTO turn_usage (tenant_id, user_id, turn, model, input_tokens, output_tokens, cost, input_rate, price,
            estimated)
        VALUES (tenant, member, 0, charge_embedding.model, charge_embedding.input_tokens, 0,
            0.000001 * charge_embedding.input_tokens * charge_embedding.input_rate, charge_embedding.input_rate,
            charge_embedding.price, true)
        RETURNING turn_usage.id INTO usage_id;
    END IF;
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION charge_embedding FROM PUBLIC;
GRANT EXECUTE ON FUNCTION charge_embedding TO toolgate_app;
