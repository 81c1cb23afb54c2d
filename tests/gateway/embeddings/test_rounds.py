"""Rounds that embed what was written: in whose turn, what they leave out, and what they take for a vector."""

from typing import Any

import pytest

from gateway.embeddings import asking, rounds
from gateway.embeddings.errors import EmbeddingFailed
from gateway.providers.gemini.provider import GeminiProvider
from gateway.providers.interface import Embedded
from tests.budgets.rows import make_budget
from tests.gateway.embeddings.keeping import WINTER, found, own_model, save, stored
from tests.gateway.routing import owners
from tests.gateway.routing.owners import beside
from tests.gateway.routing.upstream import Upstream
from tests.people import Cast
from tests.waiting import PATIENCE_SECONDS
from tools.stores import embeddings


async def test_a_text_that_the_provider_refuses_keeps_no_other_from_its_vector(
    tenant: Cast, upstream: Upstream
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    upstream.unembeddable.add("poison")
    for title in ("one", "two", "poison", "four"):
        await save(tenant.alice, title)
    with own_model():
        assert await rounds.embed(tenant.alice.scope) == 3
    assert [row["vector"] is None for row in stored(tenant)] == [False, False, True, False]
    assert stored(tenant)[2]["tries"] == 1


async def test_a_round_goes_on_where_the_last_one_ended_and_leaves_alone_who_was_refused(
    tenant: Cast, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    for who in (tenant.alice, tenant.bob):
        for title in ("one", "two", "three"):
            await save(who, title)
    make_budget(tenant, 0, "tokens", user_id=tenant.bob.scope.user_id)
    monkeypatch.setattr(rounds, "BATCH", 2)
    monkeypatch.setattr(rounds, "ROUND_SECONDS", PATIENCE_SECONDS)
    # Other tests' authors are due, too.
    everybody = embeddings.next_due

    async def of_tenant(after: Any) -> Any:
        found = await everybody(after)
        while found is not None and found.tenant_id != tenant.id:
            found = await everybody(found)
        return found

    monkeypatch.setattr(embeddings, "next_due", of_tenant)
    with own_model():
        going = rounds.Rounds()
        assert await going.go() == 3
        asked = len(upstream.asked)
        assert asked == 2
        assert await going.go() == 0
    assert len(upstream.asked) == asked
    assert {row["author_id"] for row in stored(tenant) if row["vector"] is None} == {tenant.bob.scope.user_id}


@pytest.mark.parametrize(
    "vectors",
    [[], [[1.0], [1.0]], [[]], ["text"], [[1.0, "a"]], [[True]], [[float("nan")]], [[float("inf")]], [[0.1] * 4097]],
    ids=["none", "too many", "empty", "text", "a text in it", "a boolean", "nan", "infinite", "too long"],
)
def test_what_is_no_vector_is_refused(vectors: list[Any]) -> None:
    with pytest.raises(EmbeddingFailed):
        asking.unit(Embedded(vectors), 1)


async def test_vectors_of_another_length_are_passed_over(tenant: Cast) -> None:
    await save(tenant.alice, "Tyres", WINTER)
    [row] = stored(tenant)
    taken = embeddings.Taken(row["id"], row["revision"], "")
    assert await embeddings.store(
        tenant.alice.scope, "offline/demo", [taken], [asking.unit(Embedded([[1, 1e-40]]), 1)[0]]
    )
    assert stored(tenant)[0]["vector"] == [1.0, 0.0]
    assert await found(tenant.alice, "car") == []
    assert await found(tenant.alice, "automobile") == ["Tyres"]


async def test_what_another_model_has_embedded_is_due_again_when_a_worker_starts(tenant: Cast) -> None:
    await save(tenant.alice, "Tyres", WINTER)
    await rounds.embed(tenant.alice.scope)
    await rounds.begin()
    assert stored(tenant)[0]["next_at"] is None
    with own_model():
        await rounds.begin()
    assert stored(tenant)[0]["next_at"] is not None


async def test_gemini_is_asked_for_a_batch_of_vectors() -> None:
    asked: list[tuple[str, Any]] = []

    class Exchange:
        async def ask(self, path: str, body: Any) -> Any:
            asked.append((path, body))
            return {"embeddings": [{"values": [1, 0]}, {"values": [0, 1]}]}

    gemini = GeminiProvider("key")
    gemini._upstream = Exchange()  # type: ignore[assignment]
    assert await gemini.embed("gemini-embedding-001", ["a", "b"]) == Embedded([[1, 0], [0, 1]], 0)
    name = "models/gemini-embedding-001"
    parts = [{"model": name, "content": {"parts": [{"text": text}]}} for text in ("a", "b")]
    assert asked == [(f"{name}:batchEmbedContents", {"requests": parts})]
