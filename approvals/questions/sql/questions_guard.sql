-- Trigger `guard` of `questions`, before an update of a decided row: whoever asks, that its round is ready and that its
-- call has gone on are written once each, its state may be encrypted again, and the row may become what erasure leaves
-- of it, without the words, the answer and their hashes. Raises integrity_constraint_violation. Locks nothing.
CREATE OR REPLACE FUNCTION questions_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before jsonb := to_jsonb(OLD);
    after jsonb := to_jsonb(NEW);
BEGIN
    IF OLD.ready_at IS NULL THEN
        before := before - 'ready_at';
        after := after - 'ready_at';
    END IF;
    IF OLD.used_at IS NULL THEN
        before := before - 'used_at';
        after := after - 'used_at';
    END IF;
    IF NEW.state IS NOT NULL AND OLD.state IS NOT NULL THEN
        before := before || jsonb_build_object('state', NEW.state);
    END IF;
    IF after NOT IN (before, before || '{"key": "", "message": "", "schema": null, "url": null, "request": null,
        "state": null, "content": null, "question_hash": "", "content_hash": null}') THEN
        RAISE EXCEPTION 'question % is decided', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
