-- Turn what is reserved of budgets into what was spent. Takes the parts of a reservation, which are in the order of the
-- budgets' ids, and what was used: US dollars, tokens and requests; NULL is as much as was reserved. Returns nothing.
-- Called by other functions (app). Locks the budgets' windows in that order until the transaction ends.
CREATE OR REPLACE FUNCTION settle_parts(parts jsonb, cost numeric, tokens numeric, requests numeric) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    part jsonb;
BEGIN
    FOR part IN SELECT value FROM jsonb_array_elements(parts) WITH ORDINALITY ORDER BY ordinality LOOP
        UPDATE budget_windows w SET reserved = w.reserved - (part ->> 3)::numeric, spent = w.spent + coalesce(
            CASE part ->> 2 WHEN 'usd' THEN cost WHEN 'tokens' THEN tokens ELSE requests END, (part ->> 3)::numeric)
        WHERE w.budget_id = (part ->> 0)::uuid AND w.starts_at = (part ->> 1)::timestamptz;
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION settle_parts FROM PUBLIC;
GRANT EXECUTE ON FUNCTION settle_parts TO toolgate_app;
