"""`python -m bench.notes [--rows N] [--own N] [--vectors N]`: what searching and listing notes cost among many.

One person's notes among those of a tenant; beside each figure is the barest query that answers the same, by the owner,
without row-level security.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg

from bench.rig.database import migrated

ROUNDS = 15
DIMENSIONS = 256
# 40 words of a vocabulary of 20,000, the common ones more often; "zebra" is in one of a thousand.
_FILL = """
    INSERT INTO notes (id, tenant_id, user_id, title, content, tags, language, created_at)
    SELECT gen_random_uuid(), %(tenant)s, %(user)s, 'Note ' || n,
        words || CASE WHEN n %% 1000 = 0 THEN ' zebra' ELSE '' END, ARRAY['tag' || n %% 50], 'english',
        now() - interval '900 days' * random()
    FROM generate_series(1, %(count)s) n, LATERAL (
        SELECT string_agg('word' || floor(20000 * random() ^ 3)::int, ' ') AS words
        FROM generate_series(1, 40) w WHERE n > 0 AND w > 0) t"""
_VECTORS = """
    UPDATE embeddings e SET model = 'bench 256', next_at = NULL, vector = v.vector
    FROM (SELECT d.id, array_agg(((random() - 0.5) / 9)::real) AS vector
        FROM (SELECT id FROM embeddings WHERE user_id = %s ORDER BY id LIMIT %s) d, generate_series(1, 256)
        GROUP BY d.id) v
    WHERE e.id = v.id"""
_BARE_SEARCH = """
    SELECT id, title, left(content, 240), ts_rank_cd(terms, q) AS rank FROM notes, to_tsquery('english', %(words)s) q
    WHERE terms @@ (('''user=' || %(user)s || '''')::tsquery && q) AND tenant_id = %(tenant)s AND user_id = %(user)s
    ORDER BY rank DESC LIMIT 10"""
_BARE_MEANING = """
    SELECT note_id FROM embeddings WHERE tenant_id = %(tenant)s AND user_id = %(user)s AND model = 'bench 256'
    ORDER BY vector::vector <#> %(vector)s::real[]::vector LIMIT 10"""
_BARE_LIST = """
    SELECT id, tenant_id, user_id, title, content, tags, language, taint, created_at, updated_at FROM notes
    WHERE tenant_id = %(tenant)s AND user_id = %(user)s ORDER BY created_at DESC, id DESC LIMIT 51"""


def main() -> int:
    """Fill a database, measure and print."""
    options = argparse.ArgumentParser(prog="bench.notes")
    options.add_argument("--rows", type=int, default=1_000_000, help="notes of the tenant")
    options.add_argument("--own", type=int, default=10_000, help="of them the searching person's")
    options.add_argument("--vectors", type=int, default=10_000, help="of these with a vector")
    given = options.parse_args()
    with migrated() as (services, _):
        asyncio.run(_measure(services.database_owner_url, given.rows, given.own, given.vectors))
    return 0


async def _measure(owner_url: str, rows: int, own: int, vectors: int) -> None:
    from tenants.scope import transactions
    from tests.people import make_tenant
    from tools.stores import Meaning, NoteStore

    cast = await asyncio.to_thread(make_tenant)
    who, scope = cast.alice, cast.alice.scope
    owner = psycopg.connect(owner_url, autocommit=True)
    known: dict[str, Any] = {"tenant": scope.tenant_id, "user": scope.user_id, "vector": [0.0625] * DIMENSIONS}
    for person, count in ((who, own), (cast.bob, rows - own)):
        owner.execute(_FILL, {"tenant": scope.tenant_id, "user": person.scope.user_id, "count": count})
    owner.execute(_VECTORS, [scope.user_id, vectors])
    owner.execute("VACUUM ANALYZE notes")
    owner.execute("VACUUM ANALYZE embeddings")
    meaning = Meaning("bench", known["vector"], -1.0)

    async def search(words: str, sought: Meaning | None = None) -> None:
        async with transactions.transaction(scope) as connection:
            store = NoteStore(connection, *scope)
            assert await store.search(query=words, limit=10, meaning=sought)

    print(f"{rows:,} notes of a tenant, {own:,} of one person, {vectors:,} of these with {DIMENSIONS} numbers")
    for words in ("zebra", "word0"):
        bare = await _median(lambda words=words: _bare(owner, _BARE_SEARCH, known | {"words": words}))  # type: ignore[misc]
        _say(f"search_notes by words, {words!r}", bare, await _median(lambda words=words: search(words)))  # type: ignore[misc]
    near = await _median(lambda: _bare(owner, _BARE_MEANING, known))
    bare = near + await _median(lambda: _bare(owner, _BARE_SEARCH, known | {"words": "zebra"}))
    _say("search_notes by words and meaning, 'zebra'", bare, await _median(lambda: search("zebra", meaning)))

    listed = await _median(lambda: _bare(owner, _BARE_LIST, known))
    _say("the page's list", listed, await _median(lambda: asyncio.to_thread(_page_list, who)))
    bare = await _median(lambda: _bare(owner, _BARE_SEARCH, known | {"words": "zebra"}))
    _say("the page's search, 'zebra'", bare, await _median(lambda: asyncio.to_thread(_page_search, who)))
    await transactions.close_pools()


def _page_list(who: Any) -> None:
    from tenants.scope import transactions
    from tools.keeping import notes

    with transactions.scope(*who.scope):
        assert list(notes.own(who.principal)[:51])


def _page_search(who: Any) -> None:
    from tenants.scope import transactions
    from tools.keeping import notes

    with transactions.scope(*who.scope):
        assert notes.search("zebra", 10)


async def _bare(owner: psycopg.Connection, query: str, known: dict[str, Any]) -> None:
    with owner.transaction():
        assert owner.execute(query.encode(), known).fetchall()


def _say(what: str, bare: float, took: float) -> None:
    print(f"{what}: bare query {1000 * bare:.1f} ms, here {1000 * took:.1f} ms, {took / bare:.1f} times", flush=True)


async def _median(work: Callable[[], Awaitable[None]]) -> float:
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await work()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


if __name__ == "__main__":
    sys.exit(main())
