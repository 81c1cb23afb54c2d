-- Trigger of `notes` and `memories`, after a row was written or its words were changed: what it had as a vector is
-- gone, and it is to be embedded (see `embeddings`). Writes past row security, in the row's own tenant; locks the row's
-- embedding until the transaction ends.
CREATE OR REPLACE FUNCTION embed_later() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'memories' THEN
        INSERT INTO embeddings (tenant_id, user_id, author_id, memory_id)
        VALUES (NEW.tenant_id, NEW.user_id, NEW.author_id, NEW.id);
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO embeddings (tenant_id, user_id, author_id, note_id)
        VALUES (NEW.tenant_id, NEW.user_id, NEW.user_id, NEW.id);
    ELSE
        UPDATE embeddings SET vector = NULL, model = '', revision = revision + 1, tries = 0, next_at = now()
        WHERE tenant_id = NEW.tenant_id AND note_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION embed_later FROM PUBLIC;
