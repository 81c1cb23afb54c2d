-- Write what a turn used, and settle what it had reserved. Takes the run's new row, with the turn counted; what the
-- turn used, as `record_usage` has it, with `known`: false when the provider did not say; and the tools that it called.
-- Without known numbers what was reserved is charged. Returns nothing.
-- Called by `commit_turn` and `commit_last_turn` (app), which hold the run's row. Locks the budgets' windows in the
-- order of their ids until the transaction ends.
CREATE OR REPLACE FUNCTION settle_turn(run runs, usage jsonb, tools jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    reservation turn_reservations;
BEGIN
    IF run.budgeted THEN
        DELETE FROM turn_reservations t WHERE t.run_id = run.id RETURNING * INTO reservation;
    END IF;
    IF (usage -> 'known')::boolean OR reservation.run_id IS NULL THEN
        PERFORM record_usage(run, run.turns, usage, tools, false);
        PERFORM settle_parts(reservation.parts, (usage ->> 'cost')::numeric,
            (usage -> 'input')::numeric + (usage -> 'output')::numeric, 1) WHERE reservation.run_id IS NOT NULL;
    ELSE
        PERFORM charge_estimate(run, reservation, tools);
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION settle_turn FROM PUBLIC;
GRANT EXECUTE ON FUNCTION settle_turn TO toolgate_app;
