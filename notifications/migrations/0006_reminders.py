import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls


class Migration(migrations.Migration):
    """What people are to be reminded of."""

    dependencies = [
        ("notifications", "0005_destinations"),
        ("tenants", "0018_profiles"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Reminder",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("text", models.TextField()),
                ("at", models.DateTimeField()),
                ("call_id", models.UUIDField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "fired_at",
                    models.DateTimeField(help_text="When it came due and was told, or was dropped.", null=True),
                ),
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
                "db_table": "reminders",
                "ordering": ["at"],
                "indexes": [
                    models.Index(fields=["tenant", "user", "at", "id"], name="reminders_of_user"),
                    models.Index(condition=models.Q(("fired_at", None)), fields=["at"], name="reminders_due"),
                    models.Index(
                        condition=models.Q(("fired_at__isnull", False)), fields=["fired_at"], name="reminders_over"
                    ),
                ],
            },
        ),
        rls.operation(
            rls.isolate("reminders", personal=True),
            rls.grant(
                "reminders",
                app="SELECT, INSERT, UPDATE (fired_at), DELETE",
                # The sweeper finds what is due, and not what it says.
                system="SELECT (tenant_id, user_id, id, at, fired_at), DELETE",
                operator="SELECT",
            ),
        ),
    ]
