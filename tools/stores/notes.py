"""One user's notes: keeping them, and finding them by their words."""

import uuid
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from tenants.scope import rows
from tools.stores.embeddings import Meaning

_SAVE_NOTE = """
    INSERT INTO notes (id, tenant_id, user_id, title, content, tags, language, taint)
    VALUES (%s, %s, %s, %s, %s, %s::text[], coalesce((SELECT language FROM users WHERE id = %s), 'english'),
        taint_labels(%s))
"""
_COLUMNS = "SELECT note_id, title, snippet, taint FROM"
_FIND_NOTES = f"{_COLUMNS} find_notes(%s, %s)"
_BY_MEANING = f"{_COLUMNS} find_notes_by_meaning(%s, %s, %s::real[], %s, %s)"


class NoteStore:
    """One user's notes in one tenant.

    A note remembers what the conversation had read in which it was saved (`tools.labels.TAINTS`).
    """

    def __init__(
        self,
        connection: AsyncConnection[Any],
        tenant_id: uuid.UUID,
        user_id: uuid.UUID,
        conversation_id: uuid.UUID | None = None,
    ):
        self._connection = connection
        self._tenant_id = tenant_id
        self._user_id = user_id
        self._conversation_id = conversation_id

    async def save(self, *, title: str, content: str, tags: list[str]) -> uuid.UUID:
        """Keep a new note and return its id."""
        note_id = uuid.uuid4()
        whose = self._tenant_id, self._user_id
        given = (note_id, *whose, title, content, tags, self._user_id, self._conversation_id)
        await rows.run(self._connection, _SAVE_NOTE, given)
        return note_id

    async def search(self, *, query: str, limit: int, meaning: Meaning | None = None) -> list[dict[str, Any]]:
        """The notes that fit the words best, or with their `meaning` that too, best first, as
        `{note_id, title, snippet, taint}`, all text but the last, which the tool's `ToolResult.reads` has to have."""
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            if meaning is None:
                await cursor.execute(_FIND_NOTES, (query, limit))
            else:
                given = (query, limit, meaning.vector, meaning.source, meaning.least)
                await cursor.execute(_BY_MEANING, given)
            return [row | {"note_id": str(row["note_id"])} for row in await cursor.fetchall()]
