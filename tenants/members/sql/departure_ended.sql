-- Note that nothing of somebody who left at that moment is under way any more; nothing for who has come back and left
-- again since. Who left is remembered, but not who is a member again, nor of a tenant or account that is gone.
-- Called by beat's sweep (system). Reads and writes past row security. Locks the row of `departures`.
CREATE OR REPLACE FUNCTION departure_ended(of_departure uuid, at_moment timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE departures d SET ended_at = clock_timestamp() WHERE d.id = of_departure AND d.left_at = at_moment;
    IF FOUND THEN
        DELETE FROM departures d
        WHERE d.id = of_departure AND (
            EXISTS (SELECT FROM memberships m WHERE m.tenant_id = d.tenant_id AND m.user_id = d.user_id)
            OR NOT EXISTS (SELECT FROM tenants t WHERE t.id = d.tenant_id)
            OR NOT EXISTS (SELECT FROM users u WHERE u.id = d.user_id));
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION departure_ended FROM PUBLIC;
GRANT EXECUTE ON FUNCTION departure_ended TO toolgate_system;
