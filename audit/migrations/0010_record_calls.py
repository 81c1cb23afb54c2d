from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [("audit", "0009_calls_without_a_chat")]

    operations = [rls.operation(functions("audit/calls", "record_calls"))]
