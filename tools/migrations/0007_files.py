import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    """The files of conversations."""

    dependencies = [
        ("audit", "0019_taint"),
        ("tenants", "0018_profiles"),
        ("tools", "0006_found_notes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="FileTotal",
            fields=[
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="tenants.tenant",
                    ),
                ),
                ("bytes", models.BigIntegerField(default=0)),
            ],
            options={
                "db_table": "file_totals",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("bytes__gte", 0)), name="file_totals_not_negative")
                ],
            },
        ),
        migrations.CreateModel(
            name="File",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("conversation_id", models.UUIDField()),
                ("path", models.TextField(db_collation="C")),
                ("version", models.IntegerField(default=0)),
                ("deleted", models.BooleanField(default=False)),
                ("size", models.IntegerField(default=0, help_text="Bytes.")),
                ("media_type", models.CharField(default="text/plain", max_length=100)),
                ("plain", models.BooleanField(default=True, help_text="Whether it is text that tools can read.")),
                ("hash", models.BinaryField(help_text="SHA-256 of the content; empty when it is deleted.", null=True)),
                (
                    "taint",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        db_default=[],
                        default=list,
                        help_text="What its writers had read.",
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("updated_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
                "db_table": "files",
                "ordering": ["path"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "conversation_id", "path"), name="files_path")
                ],
            },
        ),
        migrations.CreateModel(
            name="FileBlob",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("hash", models.BinaryField()),
                ("size", models.IntegerField()),
                ("content", models.BinaryField()),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "file_blobs",
                "constraints": [models.UniqueConstraint(fields=("tenant", "hash"), name="file_blobs_content")],
            },
        ),
        migrations.CreateModel(
            name="FileVersion",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("conversation_id", models.UUIDField()),
                ("file_id", models.UUIDField()),
                ("version", models.IntegerField()),
                ("hash", models.BinaryField()),
                ("size", models.IntegerField()),
                ("media_type", models.CharField(max_length=100)),
                ("plain", models.BooleanField()),
                ("call_id", models.UUIDField(null=True)),
                (
                    "taint",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), db_default=[], default=list, size=None
                    ),
                ),
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
                "db_table": "file_versions",
                "ordering": ["-version"],
                "indexes": [
                    models.Index(fields=["tenant", "conversation_id"], name="file_versions_of_one"),
                    models.Index(fields=["tenant", "hash"], name="file_versions_contents"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "file_id", "version"), name="file_versions_number")
                ],
            },
        ),
        migrations.CreateModel(
            name="FileWorkspace",
            fields=[
                ("conversation_id", models.UUIDField(primary_key=True, serialize=False)),
                ("bytes", models.BigIntegerField(default=0)),
                ("files", models.IntegerField(default=0)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "file_workspaces",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("bytes__gte", 0), ("files__gte", 0)), name="file_workspaces_not_negative"
                    )
                ],
            },
        ),
        rls.operation(
            rls.target("files"),
            rls.tenant_key("file_versions", "file_id", "files"),
            # Deferred: whoever deletes a tenant may do so in any order.
            "ALTER TABLE file_versions ADD CONSTRAINT file_versions_hash_same_tenant FOREIGN KEY (tenant_id, hash) "
            "REFERENCES file_blobs (tenant_id, hash) DEFERRABLE INITIALLY DEFERRED;",
            rls.isolate("files", personal=True),
            rls.isolate("file_versions", personal=True),
            rls.isolate("file_blobs"),
            rls.isolate("file_totals"),
            rls.isolate("file_workspaces"),
            # Contents and totals are reached through the functions alone.
            rls.grant("files", app="SELECT"),
            rls.grant("file_versions", app="SELECT"),
            functions("tools/files", "add_file_version", "delete_file_versions", "file_contents", "free_file_blobs"),
            "CREATE TRIGGER free_file_blobs AFTER DELETE ON file_versions REFERENCING OLD TABLE AS gone "
            "FOR EACH STATEMENT EXECUTE FUNCTION free_file_blobs();",
        ),
    ]
