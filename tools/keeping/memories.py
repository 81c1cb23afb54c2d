"""What is remembered about oneself, and for the whole of one's tenant."""

import uuid
from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from tenants.models import Role, User
from tenants.people.changes import Kind, record
from tenants.people.principal import Principal
from tools.keeping.errors import SharedMemory
from tools.models import Memory

LONGEST_QUERY = 500
# Memories that a search shows at most.
FOUND = 100
# Of what everybody's models are given it is said who deleted it, but not what it was.
_SHARED = Kind(target="memory", name="", fields=("author_id", "source_call_id"))


def visible(principal: Principal, *, scope: str = "", tag: str = "") -> QuerySet[Memory]:
    """What models are given for the caller, newest first: their own, whichever agent's, and the tenant's.

    With `scope` or `tag` only those that have it.
    """
    memories = Memory.objects.filter(Q(user_id=principal.user_id) | Q(user_id=None), tenant_id=principal.tenant_id)
    memories = memories.filter(scope=scope) if scope else memories
    memories = memories.filter(tags__contains=[tag]) if tag else memories
    return memories.order_by("-created_at", "-id")


def own(principal: Principal) -> QuerySet[Memory]:
    """What the caller's calls have stored, for themselves and for the tenant."""
    return visible(principal).filter(author_id=principal.user_id)


def search(query: str, limit: int = FOUND) -> list[Memory]:
    """Those of them that fit the words best, best first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT memory_id FROM find_memories(%s, NULL, %s)", [query[:LONGEST_QUERY].replace("\0", " "), limit]
        )
        ids = [row[0] for row in cursor.fetchall()]
    found = Memory.objects.in_bulk(ids)
    return [found[id] for id in ids if id in found]


def deletable(principal: Principal, memory: Memory) -> bool:
    """Whether the caller may delete it: their own, what they stored for the tenant, and owners what others did."""
    return memory.author_id == principal.user_id or (memory.user_id is None and principal.role == Role.OWNER)


def delete(principal: Principal, id: uuid.UUID) -> bool:
    """Delete one; False when the caller sees no such memory. Raises SharedMemory."""
    memory = visible(principal).filter(pk=id).first()
    if memory is None:
        return False
    if not deletable(principal, memory):
        raise SharedMemory(authors([memory]).get(memory.author_id))
    said = _SHARED.of(memory)
    deleted, _ = visible(principal).filter(pk=id).delete()
    if deleted and memory.user_id is None:
        record(said, None)
    return bool(deleted)


def authors(memories: Iterable[Memory]) -> dict[Any, str]:
    """The usernames of who stored these, by user id; who is not in the tenant any more is left out."""
    ids = {memory.author_id for memory in memories}
    return dict(User.objects.filter(pk__in=ids).values_list("pk", "username"))
