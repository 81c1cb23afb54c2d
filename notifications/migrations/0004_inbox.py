import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls


class Migration(migrations.Migration):
    """What people are told inside Toolgate."""

    dependencies = [
        ("notifications", "0003_targets_of_owners"),
        ("tenants", "0018_profiles"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="InboxEntry",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(help_text="What it is: message, reminder, delivery, …", max_length=32)),
                (
                    "key",
                    models.CharField(help_text="Written twice under the same key, it is one entry.", max_length=200),
                ),
                ("title", models.CharField(max_length=200)),
                ("text", models.TextField(blank=True)),
                (
                    "path",
                    models.CharField(
                        blank=True, help_text="Where it leads on this site; it may be empty.", max_length=500
                    ),
                ),
                ("call_id", models.UUIDField(help_text="The call that wrote it, if one did.", null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("read_at", models.DateTimeField(null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "inbox_entries",
                "ordering": ["-created_at"],
                "indexes": [
                    models.Index(fields=["tenant", "user", "-created_at", "-id"], name="inbox_entries_recent"),
                    models.Index(
                        condition=models.Q(("read_at", None)), fields=["tenant", "user"], name="inbox_entries_unread"
                    ),
                    models.Index(fields=["created_at"], name="inbox_entries_old"),
                ],
                "constraints": [models.UniqueConstraint(fields=("tenant", "user", "key"), name="inbox_entries_key")],
            },
        ),
        rls.operation(
            rls.isolate("inbox_entries", personal=True),
            rls.grant(
                "inbox_entries",
                app="SELECT, INSERT, UPDATE (read_at), DELETE",
                # What is old is dropped, unread.
                system="SELECT (id, created_at), DELETE",
                operator="SELECT",
            ),
        ),
    ]
