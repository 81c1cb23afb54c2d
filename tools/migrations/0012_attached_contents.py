from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """The contents of versions of files that messages refer to."""

    dependencies = [("tools", "0011_embeddings")]

    operations = [rls.operation(functions("tools/files", "attached_contents"))]
