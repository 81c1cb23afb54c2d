from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """A run that its driver has ended or parked is not one that somebody else has."""

    dependencies = [("gateway", "0034_run_money")]

    operations = [rls.operation(functions("gateway/runs", "renew_run_leases"))]
