from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """The functions as their files have them; until here, migrations quoted them."""

    dependencies = [("audit", "0007_decoders")]

    operations = [
        rls.operation(
            functions(
                "audit/calls",
                "make_tool_call_month",
                "make_tool_call_partitions",
                "renew_call_leases",
                "tool_call_month_floor",
                "tool_call_month_name",
                "tool_calls_guard",
                "uuid_v7_floor",
                "uuid_v7_milliseconds",
                "uuid_v7_of",
            ),
            functions("audit/log", "ledger_entry_is_sealed_once", "ledger_is_append_only"),
            functions(
                "audit/retention",
                "bare_answers",
                "drop_tool_call_month",
                "erased_call",
                "hold_tool_call_month",
                "old_tool_call_months",
            ),
            functions(
                "audit/history", "call_terms", "find_tool_calls", "look_up_tool_calls", "search_tool_calls", "words_of"
            ),
        )
    ]
