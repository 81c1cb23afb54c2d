from django.db import migrations

from tenants.scope import rls


class Migration(migrations.Migration):
    dependencies = [("notifications", "0002_notify_targets")]

    operations = [rls.operation(rls.grant("notification_targets", app="INSERT"))]
