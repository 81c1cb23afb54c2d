-- Note that a client's grant was used now, and to the hour that its member was here. Takes the grant's id, returns
-- nothing. Called by web (app). Locks the membership's row, if that is written, and then the grant's, until the
-- transaction ends: in the order of whoever removes a member.
CREATE OR REPLACE FUNCTION record_grant_use(given uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT record_visit(g.tenant_id, g.user_id) FROM client_grants g WHERE g.id = given;
    UPDATE client_grants SET last_used_at = now() WHERE id = given
$$;
REVOKE EXECUTE ON FUNCTION record_grant_use FROM PUBLIC;
GRANT EXECUTE ON FUNCTION record_grant_use TO toolgate_app;
