-- Turn what embedding was charged into what it used. Takes tenant and member, the row of what was used and the parts,
-- both as `charge_embedding` returned them, and the tokens; 0 where asking cannot have cost anything, and then nothing
-- was used. Returns nothing. Where it is never called, what was charged stays: nobody knows.
-- Called by workers and web (app); writes past row security, in that tenant and of that member alone. Locks the
-- budgets' windows in the order of their ids, until the transaction ends.
CREATE OR REPLACE FUNCTION settle_embedding(tenant uuid, member uuid, usage_id int8, parts text, tokens int8)
    RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    part jsonb;
    rate numeric;
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    UPDATE turn_usage u SET input_tokens = tokens, cost = 0.000001 * tokens * u.input_rate, estimated = false
    WHERE u.id = usage_id AND u.tenant_id = tenant AND u.user_id = member AND u.run_id IS NULL AND u.estimated
    RETURNING coalesce(u.input_rate, 0) INTO rate;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    FOR part IN SELECT value FROM jsonb_array_elements(parts::jsonb) WITH ORDINALITY ORDER BY ordinality LOOP
        UPDATE budget_windows w SET spent = greatest(0, w.spent - (part ->> 3)::numeric
            + CASE part ->> 2 WHEN 'usd' THEN 0.000001 * tokens * rate ELSE tokens END)
        WHERE w.budget_id = (part ->> 0)::uuid AND w.starts_at = (part ->> 1)::timestamptz AND w.tenant_id = tenant;
    END LOOP;
    IF tokens = 0 THEN
        DELETE FROM turn_usage u WHERE u.id = usage_id AND u.tenant_id = tenant;
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION settle_embedding FROM PUBLIC;
GRANT EXECUTE ON FUNCTION settle_embedding TO toolgate_app;
