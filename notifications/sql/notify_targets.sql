-- Write a row for each target of the tenant that wants an event, and for each member that a target stands for. Takes
-- the tenant, the member whom the event is about, its name, the request or run, the payload (JSON text), and whether
-- deciders are asked by e-mail where the tenant has no target for them. Returns how many rows it wrote.
-- Called by web and workers (app), within the transaction that makes the event happen, in its tenant. Locks nothing but
-- what it writes.
CREATE OR REPLACE FUNCTION notify_targets(
    tenant uuid, member uuid, event text, subject uuid, payload text, asks_deciders boolean
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    written integer;
BEGIN
    -- Most tenants have none, and every run that ends comes here.
    IF NOT asks_deciders AND NOT EXISTS (
        SELECT FROM notification_targets t WHERE t.tenant_id = notify_targets.tenant AND t.enabled
    ) THEN RETURN 0; END IF;
    INSERT INTO notifications (id, tenant_id, user_id, event, subject_id, payload, channel, target_id, recipient_id,
        status, attempts, due_at, created_at, problem)
    SELECT gen_random_uuid(), notify_targets.tenant, notify_targets.member, notify_targets.event,
        notify_targets.subject, notify_targets.payload, target.channel, target.id, recipient.user_id, 'waiting', 0,
        now(), now(), ''
    FROM (
        SELECT t.id, t.channel, t.destination FROM notification_targets t
        WHERE t.tenant_id = notify_targets.tenant AND t.enabled AND notify_targets.event = ANY (t.events)
        UNION ALL
        SELECT NULL, 'email', 'deciders' WHERE notify_targets.asks_deciders AND NOT EXISTS (
            SELECT FROM notification_targets t
            WHERE t.tenant_id = notify_targets.tenant AND t.channel = 'email' AND t.destination = 'deciders')
    ) target CROSS JOIN LATERAL (
        SELECT NULL::uuid AS user_id WHERE target.destination NOT IN ('deciders', 'requester')
        UNION ALL
        SELECT m.user_id FROM memberships m JOIN users u ON u.id = m.user_id
        WHERE m.tenant_id = notify_targets.tenant AND u.is_active AND u.email <> '' AND CASE target.destination
            WHEN 'deciders' THEN m.role IN ('approver', 'owner') AND m.user_id <> notify_targets.member
            WHEN 'requester' THEN m.user_id = notify_targets.member END
    ) recipient;
    GET DIAGNOSTICS written = ROW_COUNT;
    RETURN written;
END $$;
REVOKE EXECUTE ON FUNCTION notify_targets FROM PUBLIC;
GRANT EXECUTE ON FUNCTION notify_targets TO toolgate_app, toolgate_system, toolgate_operator;
