"""Versions of files that something refers to: a message of a chat, or one that is sent."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

_FIND = """
    SELECT w.at, f.id AS file_id, f.path, v.version, v.size, v.media_type, v.hash, v.taint
    FROM unnest(%(paths)s::text[], %(numbers)s::integer[]) WITH ORDINALITY AS w (path, version, at)
    JOIN files f ON f.tenant_id = %(tenant)s AND f.user_id = %(user)s AND f.conversation_id = %(conversation)s
        AND f.path = w.path AND NOT f.deleted
    JOIN file_versions v
        ON v.tenant_id = f.tenant_id AND v.file_id = f.id AND v.version = coalesce(w.version, f.version)
    ORDER BY w.at"""
_CONTENTS = "SELECT file, version, content FROM attached_contents(%s::uuid[], %s::integer[])"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file of a conversation by its path, in the normal form, in one version; None is the newest."""

    path: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Attached:
    """A version of a file, as it is remembered beside what refers to it: `sha256` in hexadecimal, `size` in bytes."""

    file_id: uuid.UUID
    path: str
    version: int
    media_type: str
    size: int
    sha256: str

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "Attached":
        """What `json` made."""
        return cls(**stored | {"file_id": uuid.UUID(stored["file_id"])})

    @property
    def json(self) -> dict[str, Any]:
        """As it is stored and shown: `{file_id, path, version, media_type, size, sha256}`."""
        return {
            "file_id": str(self.file_id),
            "path": self.path,
            "version": self.version,
            "media_type": self.media_type,
            "size": self.size,
            "sha256": self.sha256,
        }

    @property
    def name(self) -> str:
        """Its name without the folders that it is in."""
        return self.path.rpartition("/")[2]


async def find(
    connection: AsyncConnection[Any],
    tenant_id: uuid.UUID,
    user_id: uuid.UUID,
    conversation_id: uuid.UUID,
    wanted: Sequence[Wanted],
) -> tuple[dict[int, Attached], frozenset[str]]:
    """Those of a user's conversation that are there, by their place among those wanted, and what they are tainted
    with."""
    values = {
        "tenant": tenant_id,
        "user": user_id,
        "conversation": conversation_id,
        "paths": [each.path for each in wanted],
        "numbers": [each.version for each in wanted],
    }
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_FIND, values)
        rows = await cursor.fetchall()
    found = {
        row["at"] - 1: Attached(
            row["file_id"], row["path"], row["version"], row["media_type"], row["size"], bytes(row["hash"]).hex()
        )
        for row in rows
    }
    return found, frozenset(label for row in rows for label in row["taint"])


async def contents(
    connection: AsyncConnection[Any], attached: Collection[Attached]
) -> dict[tuple[uuid.UUID, int], bytes]:
    """What these hold, by file and version, within their user's transaction; one that was deleted since is left out."""
    if not attached:
        return {}
    values = [[each.file_id for each in attached], [each.version for each in attached]]
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_CONTENTS, values)
        return {(row["file"], row["version"]): bytes(row["content"]) for row in await cursor.fetchall()}
