from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Looks for the switch that stops a call only where one is on."""

    dependencies = [("tenants", "0023_names")]

    operations = [rls.operation(functions("tenants/switches", "killed"))]
