-- Charge what the turn under way of a run has reserved: its driver was lost, or it ended without a word of what it
-- used. Takes the run. Returns nothing. Called by other functions (app), which hold the run's row. Locks the budgets'
-- windows in the order of their ids until the transaction ends.
CREATE OR REPLACE FUNCTION charge_reserved(run_id uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    reservation turn_reservations;
    run runs;
BEGIN
    DELETE FROM turn_reservations t WHERE t.run_id = charge_reserved.run_id RETURNING * INTO reservation;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT * INTO run FROM runs r WHERE r.id = charge_reserved.run_id;
    PERFORM charge_estimate(run, reservation, NULL);
END $$;
REVOKE EXECUTE ON FUNCTION charge_reserved FROM PUBLIC;
GRANT EXECUTE ON FUNCTION charge_reserved TO toolgate_app;
