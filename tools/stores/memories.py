"""What is remembered about one user: storing it, and finding it by its words."""

import uuid
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from tools.stores.embeddings import Meaning

# Of a person, for them alone or with one agent; and of a tenant, for all its members.
MOST_OWN, MOST_SHARED = 10_000, 2_000
_STORE = "SELECT store_memory(%s, %s, %s::text[], %s, %s, %s, %s, %s, %s) AS stored"
_FIND = "SELECT * FROM find_memories(%s, %s, %s)"
_BY_MEANING = "SELECT * FROM find_memories_by_meaning(%s, %s, %s, %s::real[], %s, %s)"


class MemoryStore:
    """What one user's calls remember in one tenant; `call_id` writes it, `agent` is the slug of its agent, if any."""

    def __init__(
        self,
        connection: AsyncConnection[Any],
        *,
        call_id: uuid.UUID,
        conversation_id: uuid.UUID | None,
        agent: str | None,
    ):
        self._connection = connection
        self._call_id = call_id
        self._conversation_id = conversation_id
        self.agent = agent

    async def store(self, *, content: str, tags: list[str], scope: str) -> uuid.UUID | None:
        """Remember something for `user`, `agent` or `tenant`; its id, or None when there are too many."""
        memory_id = uuid.uuid4()
        agent = (self.agent or "") if scope == "agent" else ""
        source = (self._call_id, self._conversation_id)
        wanted = (memory_id, content, tags, scope, agent, *source, MOST_OWN, MOST_SHARED)
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(_STORE, wanted)
            row = await cursor.fetchone()
        return memory_id if row is not None and row["stored"] else None

    async def search(self, *, query: str, limit: int, meaning: Meaning | None = None) -> list[dict[str, Any]]:
        """What fits the words best, or with their `meaning` that too, best first, of what is given to this user and
        agent: rows of find_memories."""
        given = (query, self.agent or "", limit)
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            if meaning is None:
                await cursor.execute(_FIND, given)
            else:
                await cursor.execute(_BY_MEANING, (*given, meaning.vector, meaning.source, meaning.least))
            return list(await cursor.fetchall())
