"""Writing and deleting, as statements and the words for what comes of them, for tools and for people."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from tools.files.content import Kind, kind_of
from tools.files.errors import FilesBusy, NoSuchConversation, NoSuchFile, VersionChanged, WorkspaceFull

WRITE = "SELECT outcome, file, version FROM add_file_version(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
REMOVE = "SELECT remove_file(%s, %s) AS outcome"
DELETE = "SELECT delete_file_versions(%s, %s) AS outcome"
# As in add_file_version.sql.
MOST_FILES = 20_000


@dataclass(frozen=True, slots=True)
class Written:
    """A file after a write; `new` is False when it held the same already, and stays as it was."""

    id: uuid.UUID
    path: str
    version: int
    kind: Kind
    size: int
    new: bool


def values(
    conversation_id: uuid.UUID,
    path: str,
    body: bytes,
    call_id: uuid.UUID | None,
    replaces: int | None,
    reads: frozenset[str] = frozenset(),
) -> tuple[list[Any], Kind]:
    """The values of `WRITE`, and what the content is; `reads` is what its writer read beside the conversation."""
    kind = kind_of(body)
    bounds = [settings.TOOLGATE_MAX_CONVERSATION_FILE_BYTES, settings.TOOLGATE_MAX_TENANT_FILE_BYTES]
    return [conversation_id, path, body, kind.media_type, kind.plain, call_id, replaces, sorted(reads), *bounds], kind


def written(outcome: str, file: uuid.UUID, version: int, path: str, kind: Kind, size: int) -> Written:
    """What came of a write; raises FileRefused."""
    if outcome not in ("written", "same"):
        refuse(outcome, version)
    return Written(file, path, version, kind, size, outcome == "written")


def refuse(outcome: str, version: int = 0) -> None:
    """Raise what an outcome that is no success means."""
    most, of_tenant = settings.TOOLGATE_MAX_CONVERSATION_FILE_BYTES, settings.TOOLGATE_MAX_TENANT_FILE_BYTES
    if outcome == "changed":
        raise VersionChanged(version)
    if outcome == "none":
        raise NoSuchFile("There is no such file.")
    if outcome == "no_conversation":
        raise NoSuchConversation
    if outcome == "conversation_full":
        raise WorkspaceFull(
            f"The files of this conversation, with their versions, may have {most:,} bytes together. Delete some "
            "beside the chat, or go on in a new conversation; the operator sets the limit."
        )
    if outcome == "too_many":
        raise WorkspaceFull(
            f"A conversation has at most {MOST_FILES:,} files, deleted ones included. Go on in a new conversation."
        )
    if outcome == "tenant_full":
        raise WorkspaceFull(
            f"The files of your tenant may have {of_tenant:,} bytes together. Delete files or conversations; the "
            "operator sets the limit."
        )
    # Also what nobody knows: whether it fits was not decided.
    raise FilesBusy
