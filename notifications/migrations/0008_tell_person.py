from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Lets SQL functions of packages above put entries into a person's inbox."""

    dependencies = [("notifications", "0007_media")]

    operations = [rls.operation(functions("notifications", "tell_person"))]
