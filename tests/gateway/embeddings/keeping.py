"""Notes and memories whose embeddings are looked at: kept, and found by their meaning."""

import uuid
from typing import Any

from django.test import override_settings

from gateway.embeddings.queries import QueryMeanings
from tenants.scope.transactions import transaction
from tests.database import rows
from tests.people import Cast, Person
from tools.stores import MemoryStore, NoteStore

WINTER = "The automobile needs winter tyres before December."
OWN = "mine/embedder"


async def save(who: Person, title: str, content: str = "") -> uuid.UUID:
    async with transaction(who.scope) as connection:
        return await NoteStore(connection, *who.scope).save(title=title, content=content, tags=[])


async def store(who: Person, content: str, scope: str = "user", agent: str | None = "default") -> None:
    async with transaction(who.scope) as connection:
        memories = MemoryStore(connection, call_id=uuid.UUID(int=7), conversation_id=None, agent=agent)
        assert await memories.store(content=content, tags=[], scope=scope)


async def found(who: Person, query: str, limit: int = 10) -> list[str]:
    meaning = await QueryMeanings().of(who.scope, query)
    async with transaction(who.scope) as connection:
        notes = await NoteStore(connection, *who.scope).search(query=query, limit=limit, meaning=meaning)
    return [note["title"] for note in notes]


async def remembered(who: Person, query: str, agent: str | None = "default") -> list[str]:
    meaning = await QueryMeanings().of(who.scope, query)
    assert meaning is not None
    async with transaction(who.scope) as connection:
        memories = MemoryStore(connection, call_id=uuid.UUID(int=7), conversation_id=None, agent=agent)
        return [row["content"] for row in await memories.search(query=query, limit=10, meaning=meaning)]


def stored(tenant: Cast) -> list[dict[str, Any]]:
    """The tenant's embeddings, in the order of their authors' texts."""
    return rows(
        "SELECT e.* FROM embeddings e LEFT JOIN notes n ON n.id = e.note_id LEFT JOIN memories m ON m.id = e.memory_id"
        " WHERE e.tenant_id = %(t)s ORDER BY coalesce(n.created_at, m.created_at), e.id",
        t=tenant.id,
    )


def own_model(**more: Any) -> Any:
    return override_settings(TOOLGATE_EMBEDDINGS=OWN, **more)
