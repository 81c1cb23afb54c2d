from django.db import migrations

from tenants.scope import rls


class Migration(migrations.Migration):
    dependencies = [("audit", "0004_search"), ("tenants", "0002_retention")]

    operations = [
        rls.operation(
            """
            -- What a reader was shown lately, and what of it the page of readings lists by reader.
            CREATE INDEX history_reads_of_reader ON history_reads (tenant_id, reader_id, id DESC);

            -- An owner says how long payloads are kept; the hourly tidying keeps to it, and notes how far it has got.
            CREATE POLICY system ON tenants TO toolgate_system USING (true) WITH CHECK (true);
            GRANT SELECT (id, retention_days, erased_until), UPDATE (erased_until) ON tenants TO toolgate_system;
            GRANT UPDATE (retention_days) ON tenants TO toolgate_app;
            ALTER TABLE tenants ADD CONSTRAINT tenants_retention CHECK (retention_days > 0);

            CREATE FUNCTION tool_call_month_name(month date) RETURNS text LANGUAGE sql IMMUTABLE AS $$
                SELECT 'tool_calls_' || lpad(extract(year FROM month)::text, 4, '0') || '_'
                    || lpad(extract(month FROM month)::text, 2, '0')
            $$;
            -- The first id of a month, in UTC.
            CREATE FUNCTION tool_call_month_floor(month date) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
                SELECT uuid_v7_floor(date_trunc('month', month::timestamp) AT TIME ZONE 'UTC')
            $$;

            -- One month's partition, walled like its parent and granted to nobody; false when it is there. What the
            -- default partition holds of the month moves into it: it came before the partition did.
            CREATE FUNCTION make_tool_call_month(month date) RETURNS boolean
                LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
            DECLARE
                name text := tool_call_month_name(month);
                low uuid := tool_call_month_floor(month);
                high uuid := tool_call_month_floor((month + interval '1 month')::date);
                columns text;
                strays boolean;
            BEGIN
                IF to_regclass(name) IS NOT NULL THEN RETURN false; END IF;
                -- Whoever waits for this lock has everybody behind them; the next hour is soon enough.
                PERFORM set_config('lock_timeout', '1s', true);
                LOCK TABLE ONLY tool_calls IN ACCESS EXCLUSIVE MODE;
                SELECT EXISTS (SELECT FROM tool_calls_default WHERE id >= low AND id < high) INTO strays;
                IF strays THEN
                    SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
                    WHERE attrelid = 'tool_calls'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
                    CREATE TEMP TABLE tool_call_strays AS SELECT * FROM tool_calls_default WHERE id >= low AND id < high;
                    DELETE FROM tool_calls_default WHERE id >= low AND id < high;
                END IF;
                EXECUTE format('CREATE TABLE %I PARTITION OF tool_calls FOR VALUES FROM (%L) TO (%L)', name, low, high);
                EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
                EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
                EXECUTE format('CREATE POLICY app ON %I TO toolgate_app USING (tenant_id = '
                    '(SELECT nullif(current_setting(''toolgate.tenant'', true), '''')::uuid))', name);
                IF strays THEN
                    EXECUTE format('INSERT INTO tool_calls (%1$s) SELECT %1$s FROM pg_temp.tool_call_strays', columns);
                    DROP TABLE pg_temp.tool_call_strays;
                END IF;
                RETURN true;
            END $$;
            CREATE OR REPLACE FUNCTION make_tool_call_partitions(ahead integer) RETURNS integer
                LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
            DECLARE
                this_month date := date_trunc('month', now() AT TIME ZONE 'UTC')::date;
                made integer := 0;
            BEGIN
                FOR i IN 0..ahead LOOP
                    made := made + make_tool_call_month((this_month + make_interval(months => i))::date)::integer;
                END LOOP;
                RETURN made;
            END $$;

            -- The months before those that are kept: their partitions, and what the default partition holds of others.
            CREATE FUNCTION old_tool_call_months(keep integer) RETURNS SETOF date
                LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
                WITH kept AS (
                    SELECT (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => keep))::date AS since)
                SELECT month FROM (
                    SELECT to_date(right(c.relname, 7), 'YYYY_MM') AS month FROM pg_inherits i
                    JOIN pg_class c ON c.oid = i.inhrelid
                    WHERE i.inhparent = 'tool_calls'::regclass AND c.relname ~ '^tool_calls_[0-9]{4}_[0-9]{2}$'
                    UNION
                    SELECT date_trunc('month', to_timestamp(
                        ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) AT TIME ZONE 'UTC')::date
                    FROM tool_calls_default, kept WHERE id < tool_call_month_floor(kept.since)) AS months, kept
                WHERE keep >= 1 AND month < kept.since ORDER BY month
            $$;

            -- Keeps an old month as it is until the transaction ends, and counts its calls by tenant. Refuses a month
            -- that is to be kept, whose calls are not all final, or whose entries are not all sealed.
            CREATE FUNCTION hold_tool_call_month(month date, keep integer)
                RETURNS TABLE (tenant_id uuid, calls bigint, low uuid, high uuid)
                LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
            DECLARE
                name text := tool_call_month_name(month);
                first uuid := tool_call_month_floor(month);
                after uuid := tool_call_month_floor((month + interval '1 month')::date);
                found boolean;
            BEGIN
                IF coalesce(keep, 0) < 1 OR month >=
                    (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => keep))::date THEN
                    RAISE EXCEPTION 'the calls of % are to be kept', month USING ERRCODE = 'insufficient_privilege';
                END IF;
                PERFORM set_config('lock_timeout', '1s', true);
                EXECUTE format('LOCK TABLE %I IN SHARE ROW EXCLUSIVE MODE', name);
                EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE status NOT IN (''success'', ''error''))', name)
                    INTO found;
                IF found THEN
                    RAISE EXCEPTION 'calls of % are not final', month USING ERRCODE = 'object_not_in_prerequisite_state';
                END IF;
                IF EXISTS (SELECT FROM ledger_entries e
                           WHERE e.leaf_index IS NULL AND e.call_id >= first AND e.call_id < after) THEN
                    RAISE EXCEPTION 'entries of % are not sealed', month
                        USING ERRCODE = 'object_not_in_prerequisite_state';
                END IF;
                RETURN QUERY EXECUTE format(
                    'SELECT tenant_id, count(*), %L::uuid, %L::uuid FROM %I GROUP BY tenant_id', first, after, name);
            END $$;

            -- Drops a month that this transaction holds, once it is on record for each tenant how many calls go. The one
            -- lock that others feel is tried for a tenth of a second at a time; false when it could not be had.
            CREATE FUNCTION drop_tool_call_month(month date, keep integer) RETURNS boolean
                LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
            DECLARE
                name text := tool_call_month_name(month);
                unrecorded uuid;
            BEGIN
                SELECT held.tenant_id INTO unrecorded FROM hold_tool_call_month(month, keep) AS held
                WHERE NOT EXISTS (
                    SELECT FROM erasures e JOIN ledger_entries l ON l.record_id = e.id AND l.kind = 'dropped'
                    WHERE e.tenant_id = held.tenant_id AND l.tenant_id = held.tenant_id AND l.leaf_index IS NULL
                        AND e.scope = 'month' AND e.low = held.low AND e.high = held.high AND e.calls = held.calls
                        AND e.created_at > now() - interval '1 hour')
                LIMIT 1;
                IF unrecorded IS NOT NULL THEN
                    RAISE EXCEPTION 'it is not on record that the calls of % of % go', unrecorded, month
                        USING ERRCODE = 'insufficient_privilege';
                END IF;
                PERFORM set_config('lock_timeout', '100ms', true);
                FOR attempt IN 1..20 LOOP
                    BEGIN
                        EXECUTE format('DROP TABLE %I', name);
                        RETURN true;
                    EXCEPTION WHEN lock_not_available THEN
                        PERFORM pg_sleep(0.4);
                    END;
                END LOOP;
                RETURN false;
            END $$;
            REVOKE EXECUTE ON FUNCTION make_tool_call_month, old_tool_call_months, hold_tool_call_month,
                drop_tool_call_month FROM PUBLIC;
            GRANT EXECUTE ON FUNCTION make_tool_call_month, old_tool_call_months, hold_tool_call_month,
                drop_tool_call_month TO toolgate_system;
            """
        )
    ]
