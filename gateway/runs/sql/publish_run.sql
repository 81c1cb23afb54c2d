-- Write the notifications about a run that ended, or that waits for humans. Takes the run's new row. Returns whether
-- there are any to deliver: none about a run that waits for its children, nor about the end of one that another began.
-- Of a schedule's run that failed, or ended at a limit, whose schedule it is has an entry in their inbox.
-- Called by web and workers (app), within the transaction that ends or suspends the run. Locks nothing but what it
-- writes.
CREATE OR REPLACE FUNCTION publish_run(run runs) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF run.status = 'waiting' OR run.parent_run_id IS NOT NULL AND run.finished_at IS NOT NULL THEN
        RETURN false;
    END IF;
    IF run.status IN ('failed', 'incomplete') AND run.profile ->> 'origin' = 'schedule' THEN
        PERFORM tell_person(run.tenant_id, run.user_id, 'schedule', 'schedule:' || slot.id,
            CASE run.status WHEN 'failed' THEN 'Your schedule failed: ' ELSE 'Your schedule ended at a limit: ' END
                || left(btrim(regexp_replace(schedule.content, '\s+', ' ', 'g')), 100),
            coalesce(run.error_message, 'The limit is: ' || run.incomplete_reason, ''),
            '/settings/schedules/' || schedule.id || '/', NULL, '[]')
        FROM schedule_slots slot JOIN schedules schedule ON schedule.id = slot.schedule_id
        WHERE slot.tenant_id = run.tenant_id AND slot.run_id = run.id;
    END IF;
    RETURN notify_targets(run.tenant_id, run.user_id, 'run.' || run.status, run.id, json_build_object(
        'id', run.id, 'status', run.status, 'user', json_build_object('id', run.user_id), 'run_id', run.id,
        'conversation_id', run.conversation_id, 'agent', coalesce(run.profile ->> 'slug', ''), 'model', run.model,
        'created_at', to_char(run.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'finished_at', to_char(run.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'url', '/history/runs/' || run.id || '/')::text, false) > 0;
END $$;
REVOKE EXECUTE ON FUNCTION publish_run FROM PUBLIC;
GRANT EXECUTE ON FUNCTION publish_run TO toolgate_app;
