"""Files of a conversation that go along with a message: referred to by a version, never copied."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from tenants.scope.transactions import Connection, TenantScope
from tools.errors import ToolPermissionDenied, ToolValidationError
from tools.files import attached, paths
from tools.files.attached import Attached, Wanted
from tools.files.paths import InvalidPath

MOST = 5
MOST_BYTES = 10 * 1024 * 1024
"""Of all that go along: what mail servers take, with a third more for base64, is 10 to 25 MB."""


@dataclass(frozen=True, slots=True)
class File:
    """What an e-mail carries: a name, a type, the bytes."""

    name: str
    media_type: str
    body: bytes


async def find(
    connection: Connection, scope: TenantScope, conversation_id: uuid.UUID | None, given: Sequence[str]
) -> tuple[list[dict[str, Any]], frozenset[str]]:
    """The newest versions of these paths of the conversation, as they are stored with a message, and their taint.

    Raises ToolValidationError, ToolPermissionDenied for a call without a conversation.
    """
    if not given:
        return [], frozenset()
    if conversation_id is None:
        raise ToolPermissionDenied(
            "Files belong to a conversation, and this call was made without one. Nothing was sent."
        )
    try:
        wanted = [Wanted(paths.of_file(path)) for path in given]
    except InvalidPath as error:
        raise ToolValidationError(f"{error} Nothing was sent.", "media") from None
    found, tainted = await attached.find(connection, *scope, conversation_id, wanted)
    for at, each in enumerate(wanted):
        if at not in found:
            raise ToolValidationError(
                f"There is no file {each.path} in this conversation. list_files returns the paths of all. Nothing was "
                "sent.",
                "media",
            )
    files = [found[at] for at in range(len(wanted))]
    if sum(file.size for file in files) > MOST_BYTES:
        raise ToolValidationError(f"The files have more than {MOST_BYTES:,} bytes together. Nothing was sent.", "media")
    return [file.json | {"conversation_id": str(conversation_id)} for file in files], tainted


async def contents(connection: Connection, media: Sequence[dict[str, Any]]) -> list[File]:
    """What these hold, in a transaction of their person; what was deleted since is left out."""
    files = [_of(each) for each in media]
    bodies = await attached.contents(connection, files)
    return [
        File(file.name, file.media_type, bodies[file.file_id, file.version])
        for file in files
        if (file.file_id, file.version) in bodies
    ]


def shown(media: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What programs are told of them: `{id, name, version, type, sha256, size, url}`; the address asks for a key of the
    person's."""
    return [
        {
            "id": each["file_id"],
            "name": _of(each).name,
            "version": each["version"],
            "type": each["media_type"],
            "sha256": each["sha256"],
            "size": each["size"],
            "url": f"{settings.PUBLIC_URL}/api/v1{path(each)}content/?version={each['version']}",
        }
        for each in media
    ]


def lines(media: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each, for people: its name, and the page that its person can open."""
    return [f"{_of(each).name}: {settings.PUBLIC_URL}{path(each)}" for each in media]


def path(each: dict[str, Any]) -> str:
    """The page of one on this site."""
    return f"/conversations/{each['conversation_id']}/files/{each['file_id']}/"


def _of(each: dict[str, Any]) -> Attached:
    return Attached.of({name: value for name, value in each.items() if name != "conversation_id"})
