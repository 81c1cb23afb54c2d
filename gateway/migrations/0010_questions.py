from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """What calls ask their users, beside what they wait for of others."""

    dependencies = [("gateway", "0009_transactions"), ("approvals", "0013_questions")]

    operations = [
        rls.operation("DROP FUNCTION IF EXISTS calls_by_id;", functions("gateway/runs", "calls_by_id", "run_marks"))
    ]
