-- What erasure leaves of a call: who, when, which tool, what came of it. The one place that says so.
-- Takes a row of `tool_calls` as JSON and returns the row as JSON. Anybody may call it; it reads nothing.
CREATE OR REPLACE FUNCTION erased_call(call jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT call
        || '{"input": null, "input_raw": null, "output": null, "display": "", "error_message": null,
             "error_field": null, "params_hash": null, "output_hash": null, "approved_input": null,
             "approved_params_hash": null, "row_key": null}'
        || jsonb_build_object('decision', bare_answers(call -> 'decision'),
                              'resumed_decision', bare_answers(call -> 'resumed_decision'))
$$;
