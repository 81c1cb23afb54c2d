import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls


class Migration(migrations.Migration):
    """The versions of what is drawn beside conversations."""

    dependencies = [
        ("tools", "0009_taint"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CanvasVersion",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("conversation_id", models.UUIDField()),
                ("version", models.IntegerField()),
                ("title", models.TextField()),
                ("html", models.TextField()),
                ("css", models.TextField(blank=True, default="")),
                ("js", models.TextField(blank=True, default="")),
                ("call_id", models.UUIDField()),
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
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "canvas_versions",
                "ordering": ["-version"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "conversation_id", "version"), name="canvas_versions_number"
                    )
                ],
            },
        ),
        rls.operation(
            rls.isolate("canvas_versions", personal=True),
            rls.grant("canvas_versions", app="SELECT, INSERT, DELETE"),
        ),
    ]
