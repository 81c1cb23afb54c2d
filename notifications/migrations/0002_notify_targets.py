from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [("notifications", "0001_initial")]

    operations = [rls.operation(functions("notifications", "notify_targets"))]
