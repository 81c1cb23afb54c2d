-- Accept an invitation, which works once. Takes the SHA-256 hash of its link's token, the id of the user who joins, and
-- for somebody new the name and the hashed password of their account, which is made with that id and the invitation's
-- address. Returns the outcome: `joined`, `ended` (see find_invitation), `member` (they are one already; the invitation
-- still works), `address` (it is for another one), `taken` (the name, whatever its case), `account` (somebody has the
-- address already). Called by web (app). Writes past row security. Locks the invitation, so of two at once one is
-- accepted; a new account also waits for others that are being made.
CREATE OR REPLACE FUNCTION accept_invitation(given bytea, joining uuid, new_name text, new_password text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        invitation record;
    BEGIN
        PERFORM FROM invitations i WHERE i.token_hash = given FOR UPDATE;
        SELECT * INTO invitation FROM find_invitation(given);
        IF NOT FOUND THEN
            RETURN 'ended';
        END IF;
        IF new_name IS NOT NULL THEN
            PERFORM pg_advisory_xact_lock(hashtext('toolgate new account'));
            IF EXISTS (SELECT FROM users u WHERE lower(u.username) = lower(new_name)) THEN
                RETURN 'taken';
            END IF;
            IF invitation.email <> '' AND EXISTS (SELECT FROM users u WHERE lower(u.email) = lower(invitation.email)) THEN
                RETURN 'account';
            END IF;
            INSERT INTO users (id, username, password, email, first_name, last_name, is_superuser, is_staff, is_active,
                               date_joined)
            VALUES (joining, new_name, new_password, invitation.email, '', '', false, false, true, now());
        ELSIF NOT EXISTS (SELECT FROM users u WHERE u.id = joining AND u.is_active
                AND (invitation.email = '' OR lower(u.email) = lower(invitation.email))) THEN
            RETURN 'address';
        END IF;
        INSERT INTO memberships (id, tenant_id, user_id, role, last_seen_at, created_at)
        VALUES (gen_random_uuid(), invitation.tenant_id, joining, invitation.role, now(), now())
        ON CONFLICT (tenant_id, user_id) DO NOTHING;
        IF NOT FOUND THEN
            RETURN 'member';
        END IF;
        UPDATE invitations i SET accepted_at = now(), accepted_by_id = joining WHERE i.id = invitation.id;
        RETURN 'joined';
    END
$$;
REVOKE EXECUTE ON FUNCTION accept_invitation FROM PUBLIC;
GRANT EXECUTE ON FUNCTION accept_invitation TO toolgate_app;
