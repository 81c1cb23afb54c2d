import uuid

import django.contrib.postgres.fields
import django.contrib.postgres.functions
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions

# What was there before is embedded like what comes.
_EXISTING = """
    INSERT INTO embeddings (tenant_id, user_id, author_id, note_id) SELECT tenant_id, user_id, user_id, id FROM notes;
    INSERT INTO embeddings (tenant_id, user_id, author_id, memory_id)
        SELECT tenant_id, user_id, author_id, id FROM memories;
"""
_TRIGGERS = """
    CREATE TRIGGER embed_later AFTER INSERT OR UPDATE OF title, content, tags ON notes
        FOR EACH ROW EXECUTE FUNCTION embed_later();
    CREATE TRIGGER embed_later AFTER INSERT ON memories FOR EACH ROW EXECUTE FUNCTION embed_later();
"""


class Migration(migrations.Migration):
    """Embeddings of notes and memories, for search by meaning.

    A vector is an array of numbers, so that a database without the extension vector has the table too.
    """

    dependencies = [
        ("tenants", "0022_taint_for_owners"),
        ("tools", "0010_canvas_versions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Embedding",
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
                ("model", models.TextField(db_default="")),
                (
                    "vector",
                    django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), null=True, size=None),
                ),
                ("revision", models.IntegerField(db_default=1)),
                ("tries", models.IntegerField(db_default=0)),
                ("next_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="tools.memory",
                    ),
                ),
                (
                    "note",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="tools.note",
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
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "embeddings",
                "indexes": [
                    models.Index(fields=["tenant", "user"], name="embeddings_of_user"),
                    models.Index(
                        condition=models.Q(("next_at__isnull", False)),
                        fields=["tenant", "author", "next_at"],
                        name="embeddings_due",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "note"), name="embeddings_of_note"),
                    models.UniqueConstraint(fields=("tenant", "memory"), name="embeddings_of_memory"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("memory__isnull", True), ("note__isnull", False)),
                            models.Q(("memory__isnull", False), ("note__isnull", True)),
                            _connector="OR",
                        ),
                        name="embeddings_of_one",
                    ),
                ],
            },
        ),
        rls.operation(
            "ALTER TABLE embeddings ALTER COLUMN vector TYPE real[], ALTER COLUMN vector SET STORAGE EXTERNAL;",
            rls.target("notes"),
            rls.target("memories"),
            rls.tenant_key("embeddings", "note_id", "notes"),
            rls.tenant_key("embeddings", "memory_id", "memories"),
            rls.isolate("embeddings", personal=True, shared=True),
            rls.grant(
                "embeddings",
                app="SELECT, INSERT, UPDATE",
                # Who has something to embed, and what is of another model than the operator's is; no vector.
                system="SELECT (tenant_id, author_id, model, next_at), UPDATE (next_at, tries)",
                operator="SELECT, DELETE",
            ),
            functions("tools/stores", "embed_later", "take_embeddings", "store_embeddings", "put_back_embeddings"),
            functions("tools/stores", "find_notes_by_meaning", "find_memories_by_meaning"),
            _EXISTING,
            _TRIGGERS,
        ),
    ]
