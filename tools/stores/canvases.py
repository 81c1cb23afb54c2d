"""One conversation's canvas: its versions, as its calls draw them."""

import uuid
from typing import Any, NamedTuple

from psycopg import AsyncConnection
from psycopg.rows import dict_row

# Versions of a canvas that can be looked back at; older ones are deleted.
VERSIONS = 50

# Two calls that draw at once have their numbers one after the other.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('canvas ' || %(conversation)s::text, 0))"
_DRAW = """
    INSERT INTO canvas_versions (id, tenant_id, user_id, conversation_id, version, title, html, css, js, call_id)
    SELECT %(id)s, %(tenant)s, %(user)s, %(conversation)s,
        coalesce((SELECT max(version) FROM canvas_versions
            WHERE tenant_id = %(tenant)s AND conversation_id = %(conversation)s), 0) + 1,
        %(title)s, %(html)s, %(css)s, %(js)s, %(call)s
    RETURNING version
"""
_FORGET = """
    DELETE FROM canvas_versions
    WHERE tenant_id = %(tenant)s AND user_id = %(user)s AND conversation_id = %(conversation)s AND version <= %(until)s
"""


class Drawn(NamedTuple):
    """A version of a canvas: its id, and its number, from 1."""

    id: uuid.UUID
    version: int


class CanvasStore:
    """The canvas of one conversation of one user, for one call of theirs."""

    def __init__(
        self,
        connection: AsyncConnection[Any],
        tenant_id: uuid.UUID,
        user_id: uuid.UUID,
        conversation_id: uuid.UUID,
        call_id: uuid.UUID,
    ):
        self._connection = connection
        self._call_id = call_id
        self._whose = {"tenant": tenant_id, "user": user_id, "conversation": conversation_id}

    async def draw(self, *, title: str, html: str, css: str, js: str) -> Drawn:
        """A new version, the newest from now on; of the older ones the last `VERSIONS` stay."""
        version_id = uuid.uuid4()
        given = {"id": version_id, "call": self._call_id, "title": title, "html": html, "css": css, "js": js}
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(_LOCK, self._whose)
            await cursor.execute(_DRAW, self._whose | given)
            [row] = await cursor.fetchall()
            await cursor.execute(_FORGET, self._whose | {"until": row["version"] - VERSIONS})
        return Drawn(version_id, row["version"])
