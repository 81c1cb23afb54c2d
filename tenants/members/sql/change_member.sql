-- Give a member another role, or remove them (no role). Takes the tenant, the member and the role. Returns one row: the
-- outcome, and the role that the member had. Outcomes: `done`, `no_member`, `last_owner` (nobody active would be an
-- owner any more), `not_an_owner` (who asks is no active owner now). What belongs to a membership goes with it: keys,
-- what OAuth clients were granted, connections.
-- Called by web (app), for the tenant and the user that the transaction is restricted to, and by the operator. Writes
-- past row security. Locks the memberships of all owners, in the order of their ids, so that of two owners who remove
-- each other one comes first and the other is no owner then; and the member's.
CREATE OR REPLACE FUNCTION change_member(of_tenant uuid, member uuid, wanted text)
    RETURNS TABLE (outcome text, was text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        operates boolean := pg_has_role(session_user, 'toolgate_operator', 'MEMBER');
        acting uuid := nullif(current_setting('toolgate.user', true), '')::uuid;
    BEGIN
        PERFORM FROM memberships m WHERE m.tenant_id = of_tenant AND m.role = 'owner' ORDER BY m.user_id FOR UPDATE;
        IF NOT operates AND (
            of_tenant IS DISTINCT FROM nullif(current_setting('toolgate.tenant', true), '')::uuid
            OR NOT EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id AND u.is_active
                WHERE m.tenant_id = of_tenant AND m.user_id = acting AND m.role = 'owner')
        ) THEN
            RETURN QUERY SELECT 'not_an_owner', NULL::text;
            RETURN;
        END IF;
        SELECT m.role INTO was FROM memberships m
        WHERE m.tenant_id = of_tenant AND m.user_id = member FOR UPDATE;
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'no_member', NULL::text;
            RETURN;
        END IF;
        IF was = 'owner' AND wanted IS DISTINCT FROM 'owner' AND NOT EXISTS (
            SELECT FROM memberships m JOIN users u ON u.id = m.user_id AND u.is_active
            WHERE m.tenant_id = of_tenant AND m.user_id <> member AND m.role = 'owner'
        ) THEN
            RETURN QUERY SELECT 'last_owner', was;
            RETURN;
        END IF;
        IF wanted IS NULL THEN
            DELETE FROM memberships m WHERE m.tenant_id = of_tenant AND m.user_id = member;
        ELSIF wanted <> was THEN
            UPDATE memberships m SET role = wanted WHERE m.tenant_id = of_tenant AND m.user_id = member;
        END IF;
        RETURN QUERY SELECT 'done', was;
    END
$$;
REVOKE EXECUTE ON FUNCTION change_member FROM PUBLIC;
GRANT EXECUTE ON FUNCTION change_member TO toolgate_app, toolgate_operator;
