-- Trigger of tables whose rows are only added to, for the statements that the trigger names: raises
-- insufficient_privilege, whoever asks. Locks nothing.
CREATE OR REPLACE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
