-- Trigger `membership_began` of `memberships`, after a row came: who is a member again has not left, once what they had
-- under way before has been ended (until then the row stays). Writes past row security. Locks the row of `departures`.
CREATE OR REPLACE FUNCTION membership_began() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM departures d
    WHERE d.tenant_id = NEW.tenant_id AND d.user_id = NEW.user_id AND d.ended_at IS NOT NULL;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION membership_began FROM PUBLIC;
