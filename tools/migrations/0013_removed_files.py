from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Files that a tool deleted, whose versions stay."""

    dependencies = [("tools", "0012_attached_contents")]

    operations = [rls.operation(functions("tools/files", "remove_file", "delete_file_versions"))]
