import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """Memories: what models are to know in later conversations."""

    dependencies = [("tools", "0007_files"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Memory",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "scope",
                    models.CharField(
                        choices=[("user", "User"), ("agent", "Agent"), ("tenant", "Tenant")], max_length=8
                    ),
                ),
                (
                    "agent",
                    models.TextField(
                        blank=True, db_default="", default="", help_text="The slug, where it is of one agent."
                    ),
                ),
                ("content", models.TextField()),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                ("language", models.CharField(db_default="english", default="english", max_length=16)),
                (
                    "taint",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                ("source_call_id", models.UUIDField(help_text="The call that stored it.")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
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
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "memories",
                "ordering": ["-created_at"],
                "indexes": [models.Index(fields=["tenant", "user", "-created_at"], name="memories_recent")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("scope", "tenant"), ("user__isnull", True)),
                            models.Q(("scope__in", ["user", "agent"]), ("user__isnull", False)),
                            _connector="OR",
                        ),
                        name="memories_scope",
                    )
                ],
            },
        ),
        rls.operation(
            functions("tools/stores", "memory_terms"),
            "ALTER TABLE memories ADD COLUMN terms tsvector GENERATED ALWAYS AS "
            "(memory_terms(language, content, tags, scope, agent, tenant_id, author_id)) STORED;",
            "CREATE INDEX memories_terms ON memories USING gin (terms);",
            rls.isolate("memories", personal=True, shared=True),
            # Nobody changes one: what is wrong is deleted.
            rls.grant("memories", app="SELECT, INSERT, DELETE", operator="SELECT, DELETE"),
            functions("tools/stores", "store_memory", "find_memories", "memories_follow_language"),
            "CREATE TRIGGER memories_follow_language AFTER UPDATE OF language ON users FOR EACH ROW "
            "WHEN (OLD.language <> NEW.language) EXECUTE FUNCTION memories_follow_language();",
        ),
    ]
