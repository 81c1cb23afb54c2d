-- Find calls by words and filters. Takes the filters as JSON (words, tenant_id, user_id, tool_name, error_code, since,
-- until, statuses, ran, erased, conversation_id, run_id; each optional, but one of the first five there), the first id,
-- the id after the last, whether the newest or the oldest are wanted, and how many. Returns at most that many ids in
-- that order; none for words that have no letter or digit. Called by `find_tool_calls` and `search_tool_calls` alone,
-- which say whose calls may be read. Locks nothing.
--
-- From the newest call on, stretches of time are looked at, each eight times as long as the one before it, and after
-- two days whole months: a common word fills the page from minutes, a rare one is looked for in every month, and no
-- stretch has many more calls than are wanted. Nothing but the index of terms can serve a stretch's query, which is why
-- ids are compared by functions: what the planner believes of words is of no use where each tenant has its own, and the
-- other way, to read the tenant's every call, may take minutes.
CREATE OR REPLACE FUNCTION look_up_tool_calls(filters jsonb, low uuid, high uuid, newest boolean, wanted integer)
    RETURNS SETOF uuid LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_indexscan = on
    SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
    tenant uuid := filters ->> 'tenant_id'; member uuid := filters ->> 'user_id'; words text[];
    asked text; fitting text; query text; month record; latest uuid; found uuid[]; gathered uuid[]; digits integer;
    first bigint := uuid_v7_milliseconds(low); last bigint := uuid_v7_milliseconds(high) + 1;
    place bigint; edge bigint; bottom bigint; missing integer := wanted;
    -- 35 minutes of everybody's calls, 37 hours of one person's.
    span bigint := CASE WHEN filters ? 'user_id' THEN 1 << 27 ELSE 1 << 21 END;
BEGIN
    words := words_of(filters ->> 'words');
    -- The tenant is no term beside a user: to step through the list of a large tenant costs more than it spares.
    SELECT string_agg('''' || replace(replace(term, '\', '\\'), '''', '''''') || '''', '&' ORDER BY number)
        || CASE WHEN filters ->> 'words' ~ '[*]\s*$' THEN ':*' ELSE '' END INTO asked FROM (
        SELECT 0, name || '=' || left(filters ->> field, 200) FROM unnest(ARRAY['tenant', 'user', 'tool', 'error'],
            ARRAY['tenant_id', 'user_id', 'tool_name', 'error_code']) AS of (name, field)
        WHERE filters ? field AND (name <> 'tenant' OR member IS NULL)
        UNION ALL SELECT number, word FROM unnest(words) WITH ORDINALITY AS of (word, number)) AS of (number, term);
    IF asked IS NULL OR cardinality(words) = 0 THEN
        RETURN;
    END IF;
    fitting := ' AND call_terms(c.id, c.tenant_id, c.user_id, c.tool_name, c.error_code, c.display, c.error_message,'
        ' c.input, c.input_raw) @@ $3::tsquery'
        || coalesce(' AND uuid_eq(c.tenant_id, ' || quote_literal(tenant) || ')', '')
        || coalesce(' AND c.created_at >= ' || quote_literal(filters ->> 'since'), '')
        || coalesce(' AND c.created_at < ' || quote_literal(filters ->> 'until'), '')
        || coalesce(' AND c.status = ANY (' || quote_literal((SELECT array_agg(status)
            FROM jsonb_array_elements_text(filters -> 'statuses') status)) || ')', '')
        || CASE filters ->> 'ran' WHEN 'true' THEN ' AND c.started_at IS NOT NULL'
            WHEN 'false' THEN ' AND c.started_at IS NULL' ELSE '' END
        || CASE filters ->> 'erased' WHEN 'true' THEN ' AND c.row_key IS NULL' ELSE '' END
        || ' ORDER BY c.id ' || CASE WHEN newest THEN 'DESC' ELSE 'ASC' END || ' LIMIT ' || wanted;
    IF filters ?| ARRAY['conversation_id', 'run_id'] THEN
        -- So few that each is looked at.
        RETURN QUERY EXECUTE 'SELECT c.id FROM tool_calls c WHERE c.id >= $1 AND c.id < $2'
            || coalesce(' AND c.tenant_id = ' || quote_literal(tenant), '')
            || coalesce(' AND c.conversation_id = ' || quote_literal(filters ->> 'conversation_id'), '')
            || coalesce(' AND c.run_id = ' || quote_literal(filters ->> 'run_id'), '') || fitting
            USING low, high, asked;
        RETURN;
    END IF;
    query := 'SELECT ARRAY(SELECT c.id FROM %s c WHERE c.status IN (''success'', ''error'', ''awaiting_approval'')'
        ' AND uuid_cmp(c.id, $1) >= 0 AND uuid_cmp(c.id, $2) < 0' || fitting || ')';

    -- What the index has not, for it is under way, is looked at by itself; and what is of no month.
    EXECUTE 'SELECT ARRAY(SELECT c.id FROM tool_calls c WHERE c.id = ANY ($4) AND c.id >= $1 AND c.id < $2'
        || fitting || ')' INTO gathered USING low, high, asked, ARRAY(SELECT c.id FROM tool_calls c
        WHERE c.status IN ('proposed', 'queued', 'claimed', 'running') AND c.id >= low AND c.id < high
            AND (tenant IS NULL OR c.tenant_id = tenant) AND (member IS NULL OR c.user_id = member));
    IF newest THEN
        IF member IS NOT NULL THEN
            SELECT c.id INTO latest FROM tool_calls c WHERE c.tenant_id = tenant AND c.user_id = member
                AND c.id >= low AND c.id < high ORDER BY c.id DESC LIMIT 1;
        ELSIF tenant IS NOT NULL THEN
            SELECT c.id INTO latest FROM tool_calls c WHERE c.tenant_id = tenant
                AND c.id >= low AND c.id < high ORDER BY c.id DESC LIMIT 1;
        ELSE
            SELECT c.id INTO latest FROM tool_calls c
                WHERE c.id >= low AND c.id < high ORDER BY c.id DESC LIMIT 1;
        END IF;
        last := coalesce(uuid_v7_milliseconds(latest) + 1, first);
    END IF;
    PERFORM set_config('enable_indexscan', 'off', true);
    EXECUTE format(query, 'tool_calls_default') INTO found USING low, high, asked;
    gathered := gathered || found;

    FOR month IN
        SELECT name, greatest(first, opens) AS opens, least(last, closes) AS closes FROM (
            SELECT inhrelid::regclass AS name,
                uuid_v7_milliseconds(uuid_v7_floor(opens)) AS opens,
                uuid_v7_milliseconds(uuid_v7_floor(opens + interval '1 month')) AS closes
            FROM pg_inherits, timezone('UTC', to_date(right(inhrelid::regclass::text, 7), 'YYYY_MM')::timestamp) opens
            WHERE inhparent = 'tool_calls'::regclass AND inhrelid <> 'tool_calls_default'::regclass) months
        WHERE opens < last AND closes > first
        ORDER BY CASE WHEN newest THEN -months.opens ELSE months.opens END
    LOOP
        place := CASE WHEN newest THEN month.closes ELSE month.opens END;
        WHILE missing > 0 AND CASE WHEN newest THEN place > month.opens ELSE place < month.closes END LOOP
            edge := CASE WHEN newest THEN greatest(month.opens, place - span) ELSE least(month.closes, place + span) END;
            bottom := least(place, edge);
            digits := CASE WHEN span <= 1 << 21 THEN 7 WHEN span <= 1 << 27 THEN 6 END;
            EXECUTE format(query, month.name) INTO found
                USING greatest(low, uuid_v7_of(bottom)), least(high, uuid_v7_of(greatest(place, edge))),
                    coalesce((SELECT '(' || string_agg('''at=' || lpad(to_hex(n), digits, '0') || '''', '|') || ')&'
                        FROM generate_series(bottom >> (48 - 4 * digits),
                                             greatest(place, edge) >> (48 - 4 * digits)) n), '') || asked;
            gathered := gathered || found;
            missing := missing - cardinality(found);
            place := edge;
            span := CASE WHEN span < 1 << 27 THEN span << 3 ELSE 1::bigint << 48 END;
        END LOOP;
        EXIT WHEN missing <= 0;
    END LOOP;
    RETURN QUERY SELECT id FROM unnest(gathered) id ORDER BY CASE WHEN newest THEN id END DESC, id LIMIT wanted;
END $$;
REVOKE EXECUTE ON FUNCTION look_up_tool_calls FROM PUBLIC;
