"""The vectors of notes and memories: what is due, taken and stored; and what a search compares them with."""

import uuid
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from tenants.scope import transactions
from tenants.scope.functions import Function
from tenants.scope.transactions import TenantScope

# Characters of a text that are embedded; no model in use takes fewer tokens than these can have.
LONGEST = 4_000
# For how long nobody else takes what was taken, and when it is tried again after a failure, at first.
LEASE_SECONDS, AGAIN_SECONDS = 120, 30
_NEXT_DUE = """
    SELECT tenant_id, author_id FROM embeddings WHERE next_at <= now() AND (tenant_id, author_id) > (%s, %s)
    ORDER BY tenant_id, author_id LIMIT 1"""
_OUTDATED = """
    UPDATE embeddings SET next_at = now(), tries = 0 WHERE next_at IS NULL AND NOT starts_with(model, %s)
    RETURNING tenant_id"""
_VECTORS = "SELECT to_regtype('public.vector') IS NOT NULL AS known"


class Taken(NamedTuple):
    """A text to embed: its embedding's id, the revision of the words, and the words."""

    id: uuid.UUID
    revision: int
    words: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """The vector of what is searched for, of length 1, whose it is, and the least likeness that counts, from 0 to 1."""

    source: str
    vector: list[float]
    least: float


_TAKE = Function(
    "take_embeddings", Taken, source="text", wanted="int4", longest="int4", seconds="int4"
)  # fmt: skip
_STORE = Function(
    "store_embeddings", int, source="text", ids="uuid[]", revisions="int4[]", vectors="text[]"
)  # fmt: skip
_PUT_BACK = Function(
    "put_back_embeddings", lambda nothing: None, ids="uuid[]", revisions="int4[]", seconds="int4", counts="bool"
)  # fmt: skip


async def next_due(after: TenantScope) -> TenantScope | None:
    """The next one in order who has something to embed, of all tenants."""
    found = await transactions.fetch(_NEXT_DUE, [after.tenant_id, after.user_id], login="system")
    return TenantScope(found[0]["tenant_id"], found[0]["author_id"]) if found else None


async def mark_outdated(model: str) -> int:
    """Have everything embedded again whose vector is of another model than "provider/model"; how many those are."""
    return len(await transactions.fetch(_OUTDATED, [f"{model} "], login="system"))


async def comparable() -> bool:
    """Whether the database has the extension that compares vectors."""
    return bool((await transactions.fetch(_VECTORS))[0]["known"])


async def take(scope: TenantScope, source: str, wanted: int) -> list[Taken]:
    """Texts of one author that are due, for nobody else to take meanwhile."""
    return await _TAKE.alone(scope, source=source, wanted=wanted, longest=LONGEST, seconds=LEASE_SECONDS)


async def store(scope: TenantScope, source: str, taken: list[Taken], vectors: list[list[float]]) -> int:
    """Store the vectors of those whose words are still the same; how many those are."""
    ids, revisions = [each.id for each in taken], [each.revision for each in taken]
    texts = [orjson.dumps(vector).decode() for vector in vectors]
    [stored] = await _STORE.alone(scope, source=source, ids=ids, revisions=revisions, vectors=texts)
    return stored


async def put_back(scope: TenantScope, taken: list[Taken], seconds: int, *, counts: bool) -> None:
    """Leave them for later: after so many seconds, and where the try `counts`, longer after each."""
    ids, revisions = [each.id for each in taken], [each.revision for each in taken]
    await _PUT_BACK.alone(scope, ids=ids, revisions=revisions, seconds=seconds, counts=counts)
