from django.db import migrations, models

from tenants.scope import rls


class Migration(migrations.Migration):
    """Lets the sweeper see which children have ended, so that it looks at the calls of their parents alone."""

    dependencies = [("gateway", "0024_attachments")]

    operations = [
        migrations.AlterField(
            "run",
            "open_calls",
            models.IntegerField(
                null=True, help_text="How many calls of its turn were open when it was parked to wait for children."
            ),
        ),
        rls.operation(rls.grant("runs", system="SELECT (parent_run_id, finished_at)")),
    ]
