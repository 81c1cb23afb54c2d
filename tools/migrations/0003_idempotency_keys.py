import uuid

import django.contrib.postgres.functions
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0001_initial"),
        ("tools", "0002_approvals"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="IdempotencyKey",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        db_default=django.contrib.postgres.functions.RandomUUID(),
                        default=uuid.uuid4,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("key", models.TextField()),
                (
                    "request_hash",
                    models.BinaryField(help_text="Of the request's body; empty once its call was erased."),
                ),
                ("call_id", models.UUIDField(null=True)),
                ("run_id", models.UUIDField(null=True)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "idempotency_keys",
                "indexes": [
                    models.Index(fields=["created_at"], name="idempotency_keys_age"),
                    models.Index(fields=["call_id"], name="idempotency_keys_call"),
                    models.Index(fields=["tenant", "run_id"], name="idempotency_keys_run"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "user", "key"), name="idempotency_keys_once"),
                ],
            },
        ),
        rls.operation(
            rls.isolate("idempotency_keys", personal=True),
            rls.grant(
                "idempotency_keys", app="SELECT, INSERT, UPDATE", system="SELECT (id, run_id, created_at), DELETE"
            ),
        ),
    ]
