"""One's own files: those of one's conversations."""

import uuid

from django.conf import settings
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from tenants.people.principal import Principal
from tools.files import content, writing
from tools.files.errors import FileRefused, FilesBusy, NoSuchConversation, NoSuchFile, VersionChanged
from tools.files.writing import Written
from tools.keeping.errors import ChangedMeanwhile, FilesAway, FilesFull, FileTooLarge
from tools.labels import UNTRUSTED
from tools.models import File, FileVersion

# Who wrote what a person uploads is not known.
_WRITTEN_BY_ANYBODY = frozenset({UNTRUSTED})


def every(principal: Principal) -> QuerySet[File]:
    """The files of all of the caller's conversations."""
    return File.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id, deleted=False)


def own(principal: Principal, conversation_id: uuid.UUID, *, folder: str = "") -> QuerySet[File]:
    """The files of one of the caller's conversations, in the order of their paths; with `folder`, in its normal form,
    those in it."""
    files = every(principal).filter(conversation_id=conversation_id).order_by("path")
    # The paths of a folder are a range of the index: "/" is followed by "0".
    return files.filter(Q(path=folder) | Q(path__gt=f"{folder}/", path__lt=f"{folder}0")) if folder else files


def removed(principal: Principal, conversation_id: uuid.UUID) -> QuerySet[File]:
    """Those that a tool deleted, whose versions are there: they can be brought back, or deleted for good."""
    there = FileVersion.objects.filter(tenant_id=principal.tenant_id, file_id=OuterRef("pk"))
    files = File.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id, deleted=True)
    return files.filter(Exists(there), conversation_id=conversation_id).order_by("path")


def upload(
    principal: Principal, conversation_id: uuid.UUID, *, path: str, body: bytes, seen: int | None = None
) -> Written | None:
    """A new version of the path, in its normal form, with these bytes; None when there is no such conversation.

    `seen` is the version that the caller read, 0 for none. Raises ChangedMeanwhile, FileTooLarge, FilesFull, FilesAway.
    """
    if len(body) > settings.TOOLGATE_MAX_FILE_BYTES:
        raise FileTooLarge(settings.TOOLGATE_MAX_FILE_BYTES)
    return _written(conversation_id, path, body, seen, _WRITTEN_BY_ANYBODY)


def _written(
    conversation_id: uuid.UUID, path: str, body: bytes, seen: int | None, reads: frozenset[str]
) -> Written | None:
    values, kind = writing.values(conversation_id, path, body, None, seen, reads)
    with connection.cursor() as cursor:
        cursor.execute(writing.WRITE, values)
        outcome, file, version = cursor.fetchone()
    try:
        return writing.written(outcome, file, version, path, kind, len(body))
    except NoSuchConversation:
        return None
    except FileRefused as refused:
        raise _refused(refused) from None


def delete(file: File, *, seen: int | None = None) -> bool:
    """Delete a file with all its versions; False when it is gone already. Raises ChangedMeanwhile, FilesAway."""
    with connection.cursor() as cursor:
        cursor.execute(writing.DELETE, [file.id, seen])
        [outcome] = cursor.fetchone()
    try:
        if outcome != "deleted":
            writing.refuse(outcome)
    except NoSuchFile:
        return False
    except FileRefused as refused:
        raise _refused(refused) from None
    return True


def restore(principal: Principal, file: File) -> Written | None:
    """Bring back what a tool deleted: its last version, as a new one; None when it is gone by now.

    Raises ChangedMeanwhile where there is a file of that path again, FilesFull, FilesAway.
    """
    last = versions(file).first()
    if last is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT content FROM attached_contents(ARRAY[%s]::uuid[], ARRAY[%s])", [file.id, last.version])
        found = cursor.fetchone()
    if found is None:
        return None
    return _written(file.conversation_id, file.path, bytes(found[0]), 0, frozenset(last.taint))


def bytes_of(file: File, version: int | None = None) -> bytes | None:
    """What a file holds, or held in a version; None when it has no such version."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT content FROM file_contents(ARRAY[%s]::uuid[], %s)", [file.id, version])
        found = cursor.fetchone()
    return bytes(found[0]) if found else None


def versions(file: File) -> QuerySet[FileVersion]:
    """The versions of a file, newest first."""
    return FileVersion.objects.filter(tenant_id=file.tenant_id, user_id=file.user_id, file_id=file.id).order_by(
        "-version"
    )


def difference(file: File, before: int, after: int) -> str | None:
    """The unified diff from a version to another; None when one of them is none, is no text, or is too long."""
    texts = []
    for number in (before, after):
        # Zero is before there was anything.
        body = bytes_of(file, number) if number else b""
        if body is None or not content.kind_of(body).plain:
            return None
        texts.append(body.decode())
    names = f"{file.path} (version {before})", f"{file.path} (version {after})"
    return content.difference(texts[0], texts[1], names)


def _refused(refused: FileRefused) -> Exception:
    if isinstance(refused, VersionChanged):
        return ChangedMeanwhile()
    return FilesAway(str(refused)) if isinstance(refused, FilesBusy) else FilesFull(str(refused))
