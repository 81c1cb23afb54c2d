from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions

# Those whose lease was renewed once more when they had begun their run.
_WITHOUT_LEASES = """
    UPDATE tool_calls SET lease_until = NULL
    WHERE status = 'running' AND waits_on_run IS NOT NULL AND lease_until IS NOT NULL;"""

# Calls that a worker has. Without their leases: a renewal writes no index.
_HELD = """
    CREATE INDEX tool_calls_held ON tool_calls (status)
    WHERE status IN ('claimed', 'running') AND waits_on_run IS NULL;"""


class Migration(migrations.Migration):
    """Leaves calls that wait for a run without a lease, so that no sweep takes them for lost, or looks at them."""

    dependencies = [("gateway", "0027_unnoted_children"), ("audit", "0020_waits_on_run")]

    operations = [
        rls.operation(functions("audit/calls", "renew_call_leases"), _WITHOUT_LEASES, _HELD),
        rls.operation(rls.grant("tool_calls", system="SELECT (waits_on_run)")),
    ]
