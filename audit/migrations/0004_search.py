from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [("audit", "0003_sealing")]

    operations = [
        rls.operation(
            r"""
            -- Lists of what is rare: what failed or was erased, and what is under way or waits, which the sweeper looks through.
            CREATE INDEX tool_calls_error ON tool_calls (tenant_id, error_code, id DESC) WHERE error_code IS NOT NULL;
            CREATE INDEX tool_calls_failed ON tool_calls (tenant_id, id DESC) WHERE status = 'error';
            CREATE INDEX tool_calls_erased ON tool_calls (tenant_id, id DESC) WHERE row_key IS NULL;
            CREATE INDEX tool_calls_unfinished ON tool_calls (status, tenant_id, id DESC)
                WHERE status IN ('proposed', 'awaiting_approval', 'queued', 'claimed', 'running');
            DROP INDEX tool_calls_open;

            -- By which letters are letters, and have lower case: the same on every machine where PostgreSQL has its own rules
            -- (17 and later), else those of the machine.
            DO $$ BEGIN
                CREATE COLLATION of_words (provider = builtin, locale = 'C.UTF-8');
            EXCEPTION WHEN OTHERS THEN
                BEGIN
                    CREATE COLLATION of_words (provider = libc, locale = 'C.UTF-8');
                EXCEPTION WHEN OTHERS THEN
                    CREATE COLLATION of_words FROM "und-x-icu";
                END;
            END $$;
            """,
            functions("audit/history", "words_of", "call_terms"),
            """
            -- Written when a call is final, or waits for a human and so may wait for days; not at every step of its life. What is
            -- found must not first be looked for in a list of what is still to be filed.
            CREATE INDEX tool_calls_terms ON tool_calls USING gin (
                call_terms(id, tenant_id, user_id, tool_name, error_code, display, error_message, input, input_raw))
                WITH (fastupdate = off) WHERE status IN ('success', 'error', 'awaiting_approval');
            """,
            functions("audit/calls", "uuid_v7_milliseconds", "uuid_v7_of"),
            functions("audit/history", "look_up_tool_calls", "search_tool_calls", "find_tool_calls"),
        ),
    ]
