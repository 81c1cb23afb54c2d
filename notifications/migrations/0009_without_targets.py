from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Has notify_targets do nothing more where the tenant has no target."""

    dependencies = [("notifications", "0008_tell_person")]

    operations = [rls.operation(functions("notifications", "notify_targets"))]
