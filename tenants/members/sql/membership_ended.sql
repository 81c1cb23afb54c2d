-- Trigger `membership_ended` of `memberships`, after a row went: that somebody is no member any more is written down,
-- whoever removed them, for single sign-on, and since what they have under way is still to be ended.
-- Writes past row security. Locks the row of `departures`.
CREATE OR REPLACE FUNCTION membership_ended() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO departures (id, tenant_id, user_id, left_at)
    VALUES (gen_random_uuid(), OLD.tenant_id, OLD.user_id, clock_timestamp())
    ON CONFLICT (tenant_id, user_id) DO UPDATE SET left_at = excluded.left_at, ended_at = NULL;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION membership_ended FROM PUBLIC;
