"""Ledger entries of the kind "reported": of calls that a client has made itself."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """No statement of the database: the kinds are the model's."""

    dependencies = [("audit", "0016_entries_of_changes")]

    operations = [
        migrations.AlterField(
            "ledgerentry",
            "kind",
            models.TextField(
                choices=[
                    ("proposed", "Proposed"),
                    ("decided", "Decided"),
                    ("answered", "Answered"),
                    ("settled", "Settled"),
                    ("reported", "Reported"),
                    ("erased", "Erased"),
                    ("dropped", "Dropped"),
                    ("read", "Read"),
                    ("changed", "Changed"),
                ]
            ),
        ),
    ]
