-- Trigger `guard` of `approval_decisions`, before an update: whoever asks, a row may become what erasure leaves of it,
-- and nothing else. Of the hash it stays whether the decision counted: then it is empty, else the decision's own id.
-- Raises insufficient_privilege. Locks nothing.
CREATE OR REPLACE FUNCTION approval_decisions_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.params_hash NOT IN ('', OLD.id::text) OR to_jsonb(NEW) - 'params_hash' IS DISTINCT FROM
        (to_jsonb(OLD) || '{"reason": "", "edit": null}') - 'params_hash' THEN
        RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
