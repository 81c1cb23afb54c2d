from django.db import migrations, models


class Migration(migrations.Migration):
    """No statement of the database: settings are changed by signed messages, too."""

    dependencies = [("audit", "0017_reported")]

    operations = [
        migrations.AlterField(
            "settingchange",
            "via",
            models.TextField(help_text="page, api, admin, command, webhook or toolgate."),
        ),
    ]
