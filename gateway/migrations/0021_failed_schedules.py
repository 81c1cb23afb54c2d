from django.db import migrations

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Tells whose schedule it is that a run of it failed."""

    dependencies = [("gateway", "0020_canvas_of_conversations"), ("notifications", "0008_tell_person")]

    operations = [rls.operation(functions("gateway/runs", "publish_run"))]
