from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Files that go along with messages."""

    dependencies = [("notifications", "0006_reminders"), ("tools", "0012_attached_contents")]

    operations = [
        migrations.AddField(
            model_name=name,
            name="media",
            field=models.JSONField(
                db_default=[], default=list, help_text="Versions of files of a conversation that go along."
            ),
        )
        for name in ("inboxentry", "sentmessage")
    ] + [rls.operation(functions("notifications", "erase_sent_messages"))]
