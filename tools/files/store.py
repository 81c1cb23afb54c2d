"""One conversation's files, as its calls reach them: within the call's own transaction, tenant and user."""

import asyncio
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from tools.files import writing
from tools.files.errors import NoSuchFile
from tools.files.search import Pattern
from tools.files.writing import Written

# Row security says the same; said here too, so that neither alone has to be right.
_OWN = "tenant_id = %(tenant)s AND user_id = %(user)s AND conversation_id = %(conversation)s AND NOT deleted"
_SHOWN = "id, path, version, size, media_type, plain, taint, created_at, updated_at"
_ONE = f"SELECT {_SHOWN} FROM files WHERE {_OWN} AND path = %(path)s"
# The paths of a folder are a range of the index: "/" is followed by "0".
_IN_FOLDER = f"""{_OWN} AND (%(folder)s::text = '' OR path = %(folder)s::text
    OR (path >= %(folder)s::text || '/' AND path < %(folder)s::text || '0'))"""
_LIST = f"SELECT {_SHOWN} FROM files WHERE {_IN_FOLDER} AND path > %(after)s ORDER BY path LIMIT %(limit)s"
_COUNT = f"SELECT count(*) AS files FROM files WHERE {_IN_FOLDER}"
_CONTENTS = "SELECT file, content FROM file_contents(%s::uuid[], NULL)"
# What a search reads at once.
_BATCH_FILES, _BATCH_BYTES = 500, 4 * 1024 * 1024

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: lines as `{path, line, text}`, what their files are tainted with, how many were searched.

    It is not `complete` when there are more matches, or more text than the pattern affords.
    """

    matches: list[Row]
    taint: frozenset[str]
    searched: int
    complete: bool


class FileStore:
    """The files of one conversation of one user, for one call of theirs."""

    def __init__(
        self,
        connection: AsyncConnection[Any],
        tenant_id: uuid.UUID,
        user_id: uuid.UUID,
        conversation_id: uuid.UUID,
        call_id: uuid.UUID,
    ):
        self._connection = connection
        self._whose = {"tenant": tenant_id, "user": user_id, "conversation": conversation_id}
        self._call_id = call_id

    async def find(self, path: str) -> Row:
        """A file as `{id, path, version, size, media_type, plain, taint, created_at, updated_at}`.

        Raises NoSuchFile.
        """
        found = await self._rows(_ONE, self._whose | {"path": path})
        if not found:
            raise NoSuchFile(f"There is no file {path} in this conversation. list_files returns the paths of all.")
        return found[0]

    async def read(self, file: Row) -> bytes:
        """The content of a file that was found."""
        [row] = await self._rows(_CONTENTS, ([file["id"]],))
        return bytes(row["content"])

    async def write(
        self, path: str, body: bytes, replaces: int | None = None, reads: frozenset[str] = frozenset()
    ) -> Written:
        """A new version; of that one which `replaces` names, when it does. Raises FileRefused.

        It is tainted with what the conversation has read, what the version before it was, and `reads`.
        """
        conversation_id = self._whose["conversation"]
        values, kind = writing.values(conversation_id, path, body, self._call_id, replaces, reads)
        [row] = await self._rows(writing.WRITE, values)
        return writing.written(row["outcome"], row["file"], row["version"], path, kind, len(body))

    async def remove(self, file: Row) -> None:
        """Delete a file that was found; its versions stay, for its user. Raises FileRefused."""
        [row] = await self._rows(writing.REMOVE, (file["id"], file["version"]))
        if row["outcome"] != "removed":
            # Of another version nobody knows which it is.
            writing.refuse(row["outcome"], file["version"] + 1)

    async def listed(self, folder: str, limit: int, after: str = "") -> list[Row]:
        """The files of a folder and of those in it, in the order of their paths, after one; `""` is all."""
        return await self._rows(_LIST, self._whose | {"folder": folder, "limit": limit, "after": after})

    async def count(self, folder: str) -> int:
        """How many there are in a folder and those in it."""
        [row] = await self._rows(_COUNT, self._whose | {"folder": folder})
        return int(row["files"])

    async def search(self, pattern: Pattern, folder: str, most: int) -> Found:
        """The first `most` lines that hold a match."""
        matches: list[Row] = []
        tainted: dict[str, Row] = {}
        searched, after = 0, ""
        while batch := await self.listed(folder, _BATCH_FILES, after):
            after = batch[-1]["path"]
            texts = [file for file in batch if file["plain"]]
            tainted |= {file["path"]: file for file in texts if file["taint"]}
            while texts:
                part: list[Row] = []
                size = 0
                while texts and (not part or size + texts[0]["size"] <= _BATCH_BYTES):
                    size += texts[0]["size"]
                    part.append(texts.pop(0))
                contents = await self._rows(_CONTENTS, ([file["id"] for file in part],))
                bodies = {row["file"]: bytes(row["content"]) for row in contents}
                # RE2 leaves the event loop to others.
                found, count = await asyncio.to_thread(_found, pattern, part, bodies, most - len(matches))
                matches += found
                searched += count
                if count < len(part) or len(matches) >= most:
                    return _result(matches, tainted, searched, False)
        return _result(matches, tainted, searched, True)

    async def _rows(self, statement: str, values: Any) -> list[Row]:
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(statement.encode(), values)
            return await cursor.fetchall()


def _found(pattern: Pattern, part: list[Row], bodies: dict[uuid.UUID, bytes], most: int) -> tuple[list[Row], int]:
    """The lines of these files that hold a match, and how many files could be searched."""
    matches: list[Row] = []
    for searched, file in enumerate(part):
        if len(matches) >= most or not pattern.affords(file["size"]):
            return matches, searched
        found = pattern.matches(bodies.get(file["id"], b""), most - len(matches))
        matches += [{"path": file["path"], "line": each.line, "text": each.text} for each in found]
    return matches, len(part)


def _result(matches: list[Row], tainted: dict[str, Row], searched: int, complete: bool) -> Found:
    paths = {match["path"] for match in matches}
    return Found(matches, taint_of(tainted[path] for path in paths if path in tainted), searched, complete)


def taint_of(files: Iterable[Row]) -> frozenset[str]:
    """What is read with these files, by what their writers had read."""
    return frozenset(label for file in files for label in file["taint"])


def shown(file: Row) -> Row:
    """What models are shown of a file: `{path, version, size, type, modified_at}`."""
    modified: datetime = file["updated_at"]
    return {
        "path": file["path"],
        "version": file["version"],
        "size": file["size"],
        "type": file["media_type"],
        "modified_at": modified.isoformat(),
    }
