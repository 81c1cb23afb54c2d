from django.db import migrations

from tenants.scope import rls


class Migration(migrations.Migration):
    """Owners say what becomes of calls that would reach outside."""

    dependencies = [("tenants", "0021_fetch_hosts")]

    operations = [rls.operation("GRANT UPDATE (taint) ON tenants TO toolgate_app;")]
