"""The rows of a workspace. SQL functions write them (`tools/files/sql/`); code reads all but the contents."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from tenants.models import Tenant, User


class File(models.Model):
    """A path of a conversation's workspace, with what its newest version is; a deleted one stays as its number alone.

    `version` counts every write and deletion, so that no two contents of a path share a number.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    # A conversation's row is of a package above; its migration makes the foreign key.
    conversation_id = models.UUIDField()
    path = models.TextField(db_collation="C")
    version = models.IntegerField(default=0)
    deleted = models.BooleanField(default=False)
    size = models.IntegerField(default=0, help_text="Bytes.")
    media_type = models.CharField(max_length=100, default="text/plain")
    plain = models.BooleanField(default=True, help_text="Whether it is text that tools can read.")
    hash = models.BinaryField(null=True, help_text="SHA-256 of the content; empty when it is deleted.")
    taint = ArrayField(models.TextField(), default=list, db_default=[], help_text="What its writers had read.")
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "files"
        ordering = ["path"]
        constraints = [models.UniqueConstraint(fields=["tenant", "conversation_id", "path"], name="files_path")]

    def __str__(self) -> str:
        return self.path


class FileVersion(models.Model):
    """What a path held, from one write to the next; `call_id` is the call that wrote it, none for a person's upload."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    conversation_id = models.UUIDField()
    file_id = models.UUIDField()
    version = models.IntegerField()
    hash = models.BinaryField()
    size = models.IntegerField()
    media_type = models.CharField(max_length=100)
    plain = models.BooleanField()
    call_id = models.UUIDField(null=True)
    taint = ArrayField(models.TextField(), default=list, db_default=[])
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "file_versions"
        ordering = ["-version"]
        constraints = [models.UniqueConstraint(fields=["tenant", "file_id", "version"], name="file_versions_number")]
        indexes = [
            models.Index(fields=["tenant", "conversation_id"], name="file_versions_of_one"),
            models.Index(fields=["tenant", "hash"], name="file_versions_contents"),
        ]

    def __str__(self) -> str:
        return f"{self.file_id} {self.version}"


class FileBlob(models.Model):
    """A content, once for all files of a tenant that hold it; gone with the last version that does."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    hash = models.BinaryField()
    size = models.IntegerField()
    content = models.BinaryField()

    class Meta:
        db_table = "file_blobs"
        constraints = [models.UniqueConstraint(fields=["tenant", "hash"], name="file_blobs_content")]

    def __str__(self) -> str:
        return bytes(self.hash).hex()


class FileWorkspace(models.Model):
    """What a conversation has: the bytes of all versions, and how many paths there have been."""

    conversation_id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    bytes = models.BigIntegerField(default=0)
    files = models.IntegerField(default=0)

    class Meta:
        db_table = "file_workspaces"
        constraints = [
            models.CheckConstraint(condition=models.Q(bytes__gte=0, files__gte=0), name="file_workspaces_not_negative")
        ]

    def __str__(self) -> str:
        return f"{self.files} files, {self.bytes} bytes"


class FileTotal(models.Model):
    """The bytes of a tenant's contents. Whoever adds or frees contents holds the row locked."""

    tenant = models.OneToOneField(Tenant, on_delete=models.CASCADE, related_name="+", primary_key=True)
    bytes = models.BigIntegerField(default=0)

    class Meta:
        db_table = "file_totals"
        constraints = [models.CheckConstraint(condition=models.Q(bytes__gte=0), name="file_totals_not_negative")]

    def __str__(self) -> str:
        return f"{self.bytes} bytes"
