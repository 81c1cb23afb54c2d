-- Trigger `guard` of `tool_calls`, before an update of a final row: whoever asks, the row may become what `erased_call`
-- leaves of it, and nothing else. Raises integrity_constraint_violation. Locks nothing.
CREATE OR REPLACE FUNCTION tool_calls_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_jsonb(NEW) IS DISTINCT FROM erased_call(to_jsonb(OLD)) AND NEW IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'tool call % is final', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
