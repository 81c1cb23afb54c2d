-- Write an entry into a person's inbox, unless the key has one already. Takes the tenant and the member; what kind of
-- thing it is, with its key; a title of one line, a text, a path of this site, the call that wrote it (NULL: none), and
-- the versions of files that go along, as `inbox_entries.media`.
-- What is too long is cut by whoever calls. Returns the entry's id; NULL when nothing was written.
-- Called by web and workers (app), in the transaction of what is told, within that person's scope. Locks nothing but
-- what it writes.
CREATE OR REPLACE FUNCTION tell_person(
    tenant uuid, member uuid, kind text, key text, title text, text text, path text, call uuid,
    media jsonb
) RETURNS uuid LANGUAGE sql AS $$
    INSERT INTO inbox_entries (id, tenant_id, user_id, kind, key, title, text, path, call_id, media)
    VALUES (gen_random_uuid(), tell_person.tenant, tell_person.member, tell_person.kind, tell_person.key,
        tell_person.title, tell_person.text, tell_person.path, tell_person.call, tell_person.media)
    ON CONFLICT (tenant_id, user_id, key) DO NOTHING
    RETURNING id
$$;
REVOKE EXECUTE ON FUNCTION tell_person FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tell_person TO toolgate_app;
