-- Give back what the turn under way of a run has reserved: its asking cannot have cost anything.
-- Takes tenant and member, the run and its fence. Returns whether something was reserved under that fence.
-- Called by web and workers (app). Locks the run's row, then the budgets' windows in the order of their ids, until the
-- transaction ends.
CREATE OR REPLACE FUNCTION release_turn(tenant uuid, member uuid, run_id uuid, fence int4) RETURNS boolean
    LANGUAGE plpgsql AS $$
DECLARE
    reservation turn_reservations;
BEGIN
    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);
    PERFORM FROM runs r WHERE r.id = release_turn.run_id FOR UPDATE;
    DELETE FROM turn_reservations t WHERE t.run_id = release_turn.run_id AND t.fence = release_turn.fence
    RETURNING * INTO reservation;
    PERFORM settle_parts(reservation.parts, 0, 0, 0);
    RETURN reservation.run_id IS NOT NULL;
END $$;
REVOKE EXECUTE ON FUNCTION release_turn FROM PUBLIC;
GRANT EXECUTE ON FUNCTION release_turn TO toolgate_app;
