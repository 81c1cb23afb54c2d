import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from tenants.scope import rls


class Migration(migrations.Migration):
    """By what another system sets a tenant's alert level."""

    dependencies = [("approvals", "0014_access_conditions")]

    operations = [
        migrations.CreateModel(
            name="AlertWebhook",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("secret", models.TextField(help_text="What messages are signed with, encrypted.")),
                (
                    "last_id",
                    models.CharField(blank=True, help_text="Of the last message that was accepted.", max_length=255),
                ),
                (
                    "last_sent",
                    models.BigIntegerField(blank=True, help_text="Its time, in seconds since 1970.", null=True),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="When the secret was made.",
                    ),
                ),
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={"db_table": "alert_webhooks"},
        ),
        rls.operation(
            rls.isolate("alert_webhooks"),
            rls.grant(
                "alert_webhooks",
                app="SELECT, INSERT, UPDATE, DELETE",
                system="SELECT",
                operator="SELECT, INSERT, UPDATE, DELETE",
            ),
        ),
    ]
