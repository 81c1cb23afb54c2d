import django.core.validators
from django.db import migrations, models

from tenants.scope import rls


class Migration(migrations.Migration):
    """Owners write settings and grants; an approval's time to wait is said in seconds."""

    dependencies = [("tools", "0004_rights_versions")]

    operations = [
        migrations.AddField(
            model_name="toolsetting",
            name="approval_seconds",
            field=models.PositiveIntegerField(
                default=86_400,
                help_text="How many seconds an Elevated call waits before it expires.",
                validators=[
                    django.core.validators.MinValueValidator(60),
                    django.core.validators.MaxValueValidator(31_536_000),
                ],
            ),
        ),
        migrations.RunSQL("UPDATE tool_settings SET approval_seconds = 3600 * approval_hours", migrations.RunSQL.noop),
        # The rows of this transaction have deferred triggers, and no column goes while one waits.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.RemoveField(model_name="toolsetting", name="approval_hours"),
        rls.operation(*(rls.grant(table, app="INSERT, UPDATE, DELETE") for table in ("tool_settings", "grants"))),
    ]
