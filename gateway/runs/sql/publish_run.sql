-- Write the notifications about a run that ended, or that waits for humans. Takes the run's new row. Returns whether
-- there are any to deliver.
-- Called by web and workers (app), within the transaction that ends or suspends the run. Locks nothing but what it
-- writes.
CREATE OR REPLACE FUNCTION publish_run(run runs) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN notify_targets(run.tenant_id, run.user_id, 'run.' || run.status, run.id, json_build_object(
        'id', run.id, 'status', run.status, 'user', json_build_object('id', run.user_id), 'run_id', run.id,
        'conversation_id', run.conversation_id, 'agent', coalesce(run.profile ->> 'slug', ''), 'model', run.model,
        'created_at', to_char(run.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'finished_at', to_char(run.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'url', '/history/runs/' || run.id || '/')::text, false) > 0;
END $$;
REVOKE EXECUTE ON FUNCTION publish_run FROM PUBLIC;
GRANT EXECUTE ON FUNCTION publish_run TO toolgate_app;
