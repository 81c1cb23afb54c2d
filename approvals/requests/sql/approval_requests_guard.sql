-- Trigger `guard` of `approval_requests`, before an update of a decided row: whoever asks, that the run has taken note
-- of the decision is written once, and the row may become what erasure leaves of it, without the conversation, the
-- words and the hash of the arguments. Raises integrity_constraint_violation. Locks nothing.
CREATE OR REPLACE FUNCTION approval_requests_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before jsonb := to_jsonb(OLD);
    after jsonb := to_jsonb(NEW);
BEGIN
    IF OLD.used_at IS NULL THEN
        before := before - 'used_at';
        after := after - 'used_at';
    END IF;
    IF after NOT IN (before, before || '{"context": [], "why": "", "params_hash": ""}') THEN
        RAISE EXCEPTION 'approval request % is decided', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
