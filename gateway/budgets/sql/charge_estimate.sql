-- Charge what a run had reserved for a turn as used, since nobody knows what it used: to the budgets and to the run.
-- Takes the run; the reservation, which is deleted already; and the tools that the turn called (NULL: none). Returns
-- nothing. Called by other functions (app), which hold the run's row. Locks the budgets' windows in the order of their
-- ids until the transaction ends.
CREATE OR REPLACE FUNCTION charge_estimate(run runs, reservation turn_reservations, tools jsonb) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    PERFORM record_usage(run, reservation.turn, reservation.usage, tools, true);
    UPDATE runs r SET estimated_tokens = r.estimated_tokens
        + (reservation.usage -> 'input')::int8 + (reservation.usage -> 'output')::int8,
        cost = r.cost + coalesce((reservation.usage ->> 'cost')::numeric, 0)
    WHERE r.id = run.id;
    PERFORM settle_parts(reservation.parts, NULL, NULL, NULL);
END $$;
REVOKE EXECUTE ON FUNCTION charge_estimate FROM PUBLIC;
GRANT EXECUTE ON FUNCTION charge_estimate TO toolgate_app;
