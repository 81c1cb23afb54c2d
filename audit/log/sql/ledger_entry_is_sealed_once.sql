-- Trigger `sealed_once` of `ledger_entries`, before an update: an entry gets its places in the log once, and nothing
-- else of it changes, whoever asks. Raises insufficient_privilege. Locks nothing.
CREATE OR REPLACE FUNCTION ledger_entry_is_sealed_once() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    expected ledger_entries := OLD;
BEGIN
    expected.leaf_index := NEW.leaf_index;
    expected.tenant_index := NEW.tenant_index;
    IF OLD.leaf_index IS NOT NULL OR NEW IS DISTINCT FROM expected THEN
        RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
