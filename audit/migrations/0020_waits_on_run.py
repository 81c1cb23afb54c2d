from django.db import migrations, models


class Migration(migrations.Migration):
    """Calls that wait for a run."""

    dependencies = [("audit", "0019_taint")]

    operations = [
        migrations.AddField(
            "toolcall",
            "waits_on_run",
            models.UUIDField(help_text="The child run that it began, whose end is its own.", null=True),
        ),
    ]
