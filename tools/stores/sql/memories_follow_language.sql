-- Trigger `memories_follow_language` of `users`, after a user's language changed: what they stored is found by its
-- words in the new one. Writes past row security; locks the user's memories until the transaction ends.
CREATE OR REPLACE FUNCTION memories_follow_language() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
        UPDATE memories SET language = NEW.language WHERE author_id = NEW.id AND language <> NEW.language;
        RETURN NULL;
    END
$$;
REVOKE EXECUTE ON FUNCTION memories_follow_language FROM PUBLIC;
