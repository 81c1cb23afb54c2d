-- Let somebody in whom an OpenID provider has identified. Takes the provider's id, issuer and subject of the person,
-- their address if it counts as theirs (else empty), the role that they are given (null: none), whether members get it
-- too (else they keep theirs), and a name for a new account. Returns one row: the outcome, the user, the role that they
-- had and the one that they have. Outcomes: `in`; `joined` (a member now); `ended` (the provider is not in use, or its
-- domain is not confirmed any more); `operator` (operators log in by password); `inactive`; `removed` (was a member,
-- and removed members are not taken again); `stranger` (no member, and nobody becomes one); `no_address`; `account` (a
-- member has the address, and has to connect the account first); `no_role`.
-- Nobody loses the role of the last active owner by it.
-- Called by web (app). Reads and writes past row security. Locks the person's identity, then the memberships of all
-- owners in the order of their ids, then the member's; a new account waits for others that are being made.
CREATE OR REPLACE FUNCTION admit_person(
    of_provider uuid, given_issuer text, given_subject text, given_email text, given_role text,
    for_members boolean, new_name text
) RETURNS TABLE (outcome text, whose uuid, was text, present text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        provider record;
        person record;
        wanted text := given_role;
        found_name text := new_name;
    BEGIN
        SELECT p.* INTO provider
        FROM sign_on_providers p JOIN confirmed_domains d ON d.domain = p.domain AND d.tenant_id = p.tenant_id
        WHERE p.id = of_provider AND p.enabled AND p.issuer = given_issuer;
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'ended', NULL::uuid, NULL::text, NULL::text;
            RETURN;
        END IF;
        PERFORM pg_advisory_xact_lock(hashtextextended(provider.tenant_id || given_issuer || ' ' || given_subject, 0));
        SELECT u.id, u.is_active, u.is_superuser OR u.is_staff AS operates INTO person
        FROM sign_on_identities i JOIN users u ON u.id = i.user_id
        WHERE i.tenant_id = provider.tenant_id AND i.issuer = given_issuer AND i.subject = given_subject;
        IF FOUND THEN
            PERFORM FROM memberships m WHERE m.tenant_id = provider.tenant_id AND m.role = 'owner'
            ORDER BY m.user_id FOR UPDATE;
            SELECT m.role INTO was FROM memberships m
            WHERE m.tenant_id = provider.tenant_id AND m.user_id = person.id FOR UPDATE;
            whose := person.id;
            IF was IS NOT NULL AND NOT for_members THEN
                wanted := was;
            END IF;
            present := coalesce(wanted, was);
            outcome := CASE
                WHEN person.operates THEN 'operator'
                WHEN NOT person.is_active THEN 'inactive'
                WHEN was IS NULL AND NOT (provider.creates_members AND provider.readmits_members) THEN 'removed'
                WHEN wanted IS NULL THEN 'no_role'
                WHEN was IS NULL THEN 'joined'
                ELSE 'in' END;
            IF outcome = 'joined' THEN
                INSERT INTO memberships (id, tenant_id, user_id, role, created_at)
                VALUES (gen_random_uuid(), provider.tenant_id, person.id, wanted, now());
            ELSIF outcome = 'in' AND was <> wanted THEN
                IF was = 'owner' AND NOT EXISTS (
                    SELECT FROM memberships m JOIN users u ON u.id = m.user_id AND u.is_active
                    WHERE m.tenant_id = provider.tenant_id AND m.user_id <> person.id AND m.role = 'owner'
                ) THEN
                    present := was;
                ELSE
                    UPDATE memberships m SET role = wanted
                    WHERE m.tenant_id = provider.tenant_id AND m.user_id = person.id;
                END IF;
            END IF;
        ELSE
            PERFORM pg_advisory_xact_lock(hashtext('toolgate new account'));
            outcome := CASE
                WHEN given_email <> '' AND EXISTS (
                    SELECT FROM memberships m JOIN users u ON u.id = m.user_id
                    WHERE m.tenant_id = provider.tenant_id AND lower(u.email) = lower(given_email)
                ) THEN 'account'
                WHEN NOT provider.creates_members THEN 'stranger'
                WHEN given_email = '' THEN 'no_address'
                WHEN NOT provider.readmits_members AND EXISTS (
                    SELECT FROM departures d JOIN users u ON u.id = d.user_id
                    WHERE d.tenant_id = provider.tenant_id AND lower(u.email) = lower(given_email)
                ) THEN 'removed'
                WHEN wanted IS NULL THEN 'no_role'
                ELSE 'joined' END;
            IF outcome = 'joined' THEN
                whose := gen_random_uuid();
                present := wanted;
                IF EXISTS (SELECT FROM users u WHERE lower(u.username) = lower(found_name)) THEN
                    found_name := left(found_name, 140) || '-' || left(replace(whose::text, '-', ''), 8);
                END IF;
                -- A password that begins with ! is none.
                INSERT INTO users (id, username, password, email, first_name, last_name, is_superuser, is_staff, is_active,
                                   date_joined)
                VALUES (whose, found_name, '!' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''),
                        given_email, '', '', false, false, true, now());
                INSERT INTO memberships (id, tenant_id, user_id, role, created_at)
                VALUES (gen_random_uuid(), provider.tenant_id, whose, wanted, now());
                INSERT INTO sign_on_identities (id, tenant_id, user_id, issuer, subject, created_at)
                VALUES (gen_random_uuid(), provider.tenant_id, whose, given_issuer, given_subject, now());
            END IF;
        END IF;
        IF outcome IN ('in', 'joined') THEN
            UPDATE users u SET last_login = now() WHERE u.id = whose;
            UPDATE sign_on_identities i SET last_used_at = now()
            WHERE i.tenant_id = provider.tenant_id AND i.issuer = given_issuer AND i.subject = given_subject;
        END IF;
        RETURN NEXT;
    END
$$;
REVOKE EXECUTE ON FUNCTION admit_person FROM PUBLIC;
GRANT EXECUTE ON FUNCTION admit_person TO toolgate_app;
