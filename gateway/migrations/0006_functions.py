from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """The functions as their files have them; until here, migrations quoted them."""

    dependencies = [("gateway", "0005_latest_messages")]

    operations = [
        rls.operation(
            functions("gateway/runs", "renew_run_leases", "run_marks"),
        )
    ]
