-- A trigger's function: charge what a run has still reserved when it ended or got another driver, once the transaction
-- that did so is about to commit. A turn that is committed has settled by then.
-- Called by the trigger of `runs` alone. Locks the budgets' windows in the order of their ids.
CREATE OR REPLACE FUNCTION charge_left_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM charge_reserved(NEW.id);
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION charge_left_over FROM PUBLIC;
