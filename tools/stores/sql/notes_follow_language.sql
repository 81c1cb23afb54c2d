-- Trigger `notes_follow_language` of `users`, after a user's language changed: their notes are found by their words in
-- the new one. Writes past row security; locks the user's notes until the
-- transaction ends.
CREATE OR REPLACE FUNCTION notes_follow_language() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
        UPDATE notes SET language = NEW.language WHERE user_id = NEW.id AND language <> NEW.language;
        RETURN NULL;
    END
$$;
REVOKE EXECUTE ON FUNCTION notes_follow_language FROM PUBLIC;
