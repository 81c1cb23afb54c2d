-- Note that a member was here now, to the hour. Takes the tenant's and the user's id, returns nothing.
-- Called by web and by the admin (app, operator). Locks the membership's row until the transaction ends, if it is
-- written.
CREATE OR REPLACE FUNCTION record_visit(of_tenant uuid, given uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE memberships SET last_seen_at = now()
    WHERE tenant_id = of_tenant AND user_id = given
        AND (last_seen_at IS NULL OR last_seen_at < now() - interval '1 hour')
$$;
REVOKE EXECUTE ON FUNCTION record_visit FROM PUBLIC;
GRANT EXECUTE ON FUNCTION record_visit TO toolgate_app, toolgate_operator;
