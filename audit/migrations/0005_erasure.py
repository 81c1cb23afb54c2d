from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


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
            """,
            functions(
                "audit/calls",
                "tool_call_month_name",
                "tool_call_month_floor",
                "make_tool_call_month",
                "make_tool_call_partitions",
            ),
            functions("audit/retention", "old_tool_call_months", "hold_tool_call_month", "drop_tool_call_month"),
        )
    ]
