-- When the window of a budget began that holds now: the day or the month in UTC; 1970-01-01 of one for ever.
-- Takes `day`, `month` or `total`. Called by other functions (app). Locks nothing.
CREATE OR REPLACE FUNCTION budget_start(period text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN period = 'total' THEN timestamptz 'epoch' ELSE date_trunc(period, now(), 'UTC') END
$$;
REVOKE EXECUTE ON FUNCTION budget_start FROM PUBLIC;
GRANT EXECUTE ON FUNCTION budget_start TO toolgate_app, toolgate_operator;
