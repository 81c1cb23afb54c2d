-- What a call asks its user, and has not gone on with: questions that are pending, and those of the same round that are
-- decided. Takes the call's id. Returns a JSON array in the order in which they were asked, null when there is none.
-- Called by web and workers (app) of calls that are parked, within the tenant that they have set. Locks nothing.
CREATE OR REPLACE FUNCTION open_questions(call uuid) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_agg(jsonb_build_object('id', q.id, 'tool', q.tool_name, 'message', q.message, 'schema', q.schema,
        'url', q.url, 'request', q.request, 'expires_at', q.expires_at, 'status', q.status) ORDER BY q.position)
    FROM questions q WHERE q.call_id = call AND q.used_at IS NULL
$$;
REVOKE EXECUTE ON FUNCTION open_questions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION open_questions TO toolgate_app, toolgate_operator;
