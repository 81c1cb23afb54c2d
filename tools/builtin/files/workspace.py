"""What the tools of files share: the workspace of a call, paths as arguments, refusals as tools' errors, text."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from tools.errors import ToolError, ToolExecutionError, ToolPermissionDenied, ToolUnavailable, ToolValidationError
from tools.files import FileStore, paths
from tools.files.content import Kind
from tools.files.errors import FileRefused, FilesBusy
from tools.files.paths import InvalidPath
from tools.interface import ToolContext

# Of a file that a tool writes, in bytes of UTF-8.
MAX_TEXT = 1024 * 1024
# Of one answer, in bytes of JSON: a model is given 16,384 of an output, and what is cut says nothing of the rest.
MOST_SHOWN = 14_000
PATH: dict[str, Any] = {
    "type": "string",
    "description": "The file's path in the conversation's workspace, such as notes/plan.md.",
    "minLength": 1,
    "maxLength": paths.MAX_CHARACTERS,
}
FOLDER: dict[str, Any] = {
    "type": "string",
    "description": "Only files in this folder and those in it, or this file alone; all files without it.",
    "maxLength": paths.MAX_CHARACTERS,
}


def workspace(ctx: ToolContext) -> FileStore:
    """The files of the call's conversation. Raises ToolPermissionDenied for a call without one."""
    if ctx.files is None:
        raise ToolPermissionDenied(
            "Files belong to a conversation, and this call was made without one. Ask for it in a chat; "
            "people upload files beside it."
        )
    return ctx.files


def file_path(params: dict[str, Any]) -> str:
    """The normal form of the argument `path`. Raises ToolValidationError."""
    return _normal(paths.of_file, params["path"])


def folder_path(params: dict[str, Any]) -> str:
    """The same of a folder; empty is the whole workspace."""
    return _normal(paths.of_folder, params.get("path", ""))


@contextmanager
def refusing() -> Iterator[None]:
    """Raise what the workspace refuses as the error of a tool."""
    try:
        yield
    except FileRefused as refused:
        raise _error(refused) from None


def text_of(body: bytes, path: str, kind: Kind) -> str:
    """The text of a file. Raises ToolExecutionError for what is none."""
    if not kind.plain:
        raise ToolExecutionError(
            f"{path} is no text in UTF-8: it is {kind.media_type}, {len(body):,} bytes. Its user can download it."
        )
    return body.decode()


def fitting(items: list[Any]) -> int:
    """How many of the items, from the first, one answer may hold."""
    size = 0
    for number, item in enumerate(items):
        size += len(orjson.dumps(item)) + 1
        if size > MOST_SHOWN:
            return number
    return len(items)


def _normal(form: Any, given: str) -> str:
    try:
        return str(form(given))
    except InvalidPath as error:
        raise ToolValidationError(str(error), "path") from None


def _error(refused: FileRefused) -> ToolError:
    return (ToolUnavailable if isinstance(refused, FilesBusy) else ToolExecutionError)(str(refused))
