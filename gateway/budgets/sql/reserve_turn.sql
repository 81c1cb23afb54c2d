-- Reserve what a turn can use at the most, of the tokens and money that its run may use with all that it begins, and of
-- every budget that applies to it, before the model is asked: all of them or none. What an earlier asking has left is
-- charged as it was reserved: nobody knows what it used. Takes tenant and member; the run, its fence and the turn; the
-- model; an upper bound of its input, how many tokens it may answer with, and the fewest that are of use; the highest
-- rates in US dollars per million tokens (NULL: no price) and whose price that is.
-- Returns one row. `outcome`: `reserved`, with the tokens that may be answered; `free` when no limit applies; `lost`
-- when the run is not this driver's any more; `spent`; `busy` when it would be affordable without what other runs have
-- reserved; `unpriced`. With the last three `refusal` says which budget (`budget_refusal`), and nothing is reserved. Of
-- the run's own limits it says {scope: `run`, unit: `tokens` or `usd`, limit, used, given: whether another run gave it
-- to it}.
-- Called by web and workers (app). Locks the run's row, then the budgets' windows in the order of their ids, until the
-- transaction ends.
CREATE OR REPLACE FUNCTION reserve_turn(
    tenant uuid, member uuid, run_id uuid, fence int4, turn int4, model text, input_tokens int8, output_tokens int8,
    least_tokens int8, input_rate numeric, output_rate numeric, price text
) RETURNS TABLE (outcome text, granted int8, refusal jsonb) LANGUAGE plpgsql AS $$
DECLARE
    run runs;
    budget budgets;
    held budget_windows;
    applying budgets[];
    rest numeric;
    affordable numeric;
    without_others numeric;
    cost numeric;
    amount numeric;
    parts jsonb := '[]';
    most numeric;
    used numeric;
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    SELECT * INTO run FROM runs r
    WHERE r.id = reserve_turn.run_id AND r.fence = reserve_turn.fence AND r.status = 'in_progress' FOR UPDATE;
    IF NOT FOUND THEN
        outcome := 'lost';
        RETURN NEXT;
        RETURN;
    END IF;
    PERFORM charge_reserved(run.id);
    outcome := 'free';
    granted := output_tokens;
    most := (run.profile ->> 'max_run_tokens')::numeric;
    IF most IS NOT NULL THEN
        used := run_tokens(run.id);
        granted := tokens_within('tokens', most - used, input_tokens, output_tokens, NULL, NULL);
        IF granted < least_tokens THEN
            outcome := 'spent';
            refusal := jsonb_build_object('scope', 'run', 'unit', 'tokens', 'limit', most, 'used', used,
                'given', run.parent_run_id IS NOT NULL);
            RETURN NEXT;
            RETURN;
        END IF;
        outcome := 'reserved';
    END IF;
    most := (run.profile ->> 'max_run_usd')::numeric;
    IF most IS NOT NULL THEN
        used := run_usd(run.id);
        granted := tokens_within('usd', most - used, input_tokens, granted, input_rate, output_rate);
        outcome := CASE WHEN input_rate IS NULL OR output_rate IS NULL THEN 'unpriced'
            WHEN granted < least_tokens THEN 'spent' ELSE 'reserved' END;
        IF outcome <> 'reserved' THEN
            refusal := jsonb_build_object('scope', 'run', 'unit', 'usd', 'limit', most::text, 'used', used::text,
                'given', run.parent_run_id IS NOT NULL);
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    FOR budget IN SELECT b.* FROM budgets b
        WHERE b.tenant_id = tenant AND (b.user_id IS NULL OR b.user_id = member)
            AND (b.agent_id IS NULL OR b.agent_id = run.agent_id) AND (b.key_id IS NULL OR b.key_id = run.key_id)
        ORDER BY b.id
    LOOP
        INSERT INTO budget_windows (budget_id, tenant_id, starts_at)
        VALUES (budget.id, tenant, budget_start(budget.period)) ON CONFLICT DO NOTHING;
        SELECT * INTO held FROM budget_windows w
        WHERE w.budget_id = budget.id AND w.starts_at = budget_start(budget.period) FOR UPDATE;
        IF budget.unit = 'usd' AND (input_rate IS NULL OR output_rate IS NULL) THEN
            outcome := 'unpriced';
            refusal := budget_refusal(budget, held.spent, held.reserved);
            EXIT;
        END IF;
        rest := budget.amount - held.spent - held.reserved;
        affordable := tokens_within(budget.unit, rest, input_tokens, output_tokens, input_rate, output_rate);
        IF affordable < least_tokens THEN
            without_others := tokens_within(
                budget.unit, rest + held.reserved, input_tokens, output_tokens, input_rate, output_rate);
            outcome := CASE WHEN without_others < least_tokens THEN 'spent' ELSE 'busy' END;
            refusal := budget_refusal(budget, held.spent, held.reserved);
            EXIT WHEN outcome = 'spent';
        ELSIF outcome <> 'busy' THEN
            outcome := 'reserved';
            granted := least(granted, affordable);
        END IF;
        applying := applying || budget;
    END LOOP;
    IF outcome = 'reserved' THEN
        cost := 0.000001 * (input_tokens * input_rate + granted * output_rate);
        FOREACH budget IN ARRAY coalesce(applying, '{}') LOOP
            amount := CASE budget.unit WHEN 'usd' THEN cost WHEN 'tokens' THEN input_tokens + granted ELSE 1 END;
            UPDATE budget_windows w SET reserved = w.reserved + amount
            WHERE w.budget_id = budget.id AND w.starts_at = budget_start(budget.period)
                AND w.spent + w.reserved + amount <= budget.amount;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'the budget % does not afford what was worked out', budget.id;
            END IF;
            parts := parts || jsonb_build_array(jsonb_build_array(
                budget.id, budget_start(budget.period), budget.unit, amount));
        END LOOP;
        INSERT INTO turn_reservations (run_id, tenant_id, turn, fence, usage, parts)
        VALUES (run.id, tenant, reserve_turn.turn, reserve_turn.fence, jsonb_build_object('model', model,
            'input', input_tokens, 'output', granted, 'cached', 0, 'cost', cost::text,
            'input_rate', input_rate::text, 'output_rate', output_rate::text, 'price', price), parts);
    END IF;
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION reserve_turn FROM PUBLIC;
GRANT EXECUTE ON FUNCTION reserve_turn TO toolgate_app;
