from django.db import migrations, models

from tenants.models import LANGUAGES
from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Adds the language that people write in, and where their days begin."""

    dependencies = [("tenants", "0017_departures")]

    operations = [
        migrations.AddField(
            "user",
            "language",
            models.CharField(
                max_length=16,
                choices=[(each, each) for each in LANGUAGES],
                default="english",
                db_default="english",
                help_text="The language that they write in: what they keep is found by its words in this language.",
            ),
        ),
        migrations.AddField(
            "user",
            "time_zone",
            models.CharField(
                max_length=64,
                default="UTC",
                db_default="UTC",
                help_text='Where their days begin, such as "Europe/Berlin".',
            ),
        ),
        rls.operation(functions("tenants/people", "change_profile")),
    ]
