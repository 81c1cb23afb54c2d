-- Trigger of file_workspaces, before an insertion: holds the conversation against deletion until the transaction ends,
-- so that whoever writes files waits for its deletion before it locks anything of them, and the deletion for them.
CREATE OR REPLACE FUNCTION hold_conversation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM conversations c
    WHERE c.tenant_id = NEW.tenant_id AND c.id = NEW.conversation_id FOR KEY SHARE;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION hold_conversation FROM PUBLIC;
