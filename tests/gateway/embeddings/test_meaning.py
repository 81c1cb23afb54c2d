"""Search by meaning: what is embedded, by whom and in whose name, and what is found by it."""

import os
import uuid
from decimal import Decimal

import httpx
import psycopg
import pytest
from django.test import override_settings

from gateway.embeddings import asking, queries, rounds
from gateway.embeddings.errors import EmbeddingFailed, EmbeddingRefused
from gateway.embeddings.queries import QueryMeanings
from tenants.scope.transactions import transaction
from tests.budgets.rows import amounts, make_budget, used
from tests.database import rows
from tests.gateway.embeddings.keeping import OWN, WINTER, found, own_model, remembered, save, store, stored
from tests.gateway.routing import owners
from tests.gateway.routing.owners import beside
from tests.gateway.routing.upstream import Upstream
from tests.people import Cast
from tests.stack import Stack
from tools.invocation.live.circuit import circuits
from tools.stores import embeddings, erasure


async def test_a_note_is_found_by_other_words_beside_those_that_have_them(tenant: Cast) -> None:
    await save(tenant.alice, "Tyres", WINTER)
    await save(tenant.alice, "Quarterly report", "Revenue is up.")
    await save(tenant.alice, "Parking", "The car park closes at six.")
    assert await found(tenant.alice, "vehicle") == []
    assert await rounds.embed(tenant.alice.scope) == 3
    assert set(await found(tenant.alice, "vehicle")) == {"Tyres", "Parking"}
    assert await found(tenant.alice, "car") == ["Parking", "Tyres"]
    assert await found(tenant.alice, "car", limit=1) == ["Parking"]
    assert await found(tenant.alice, "zebra") == []


async def test_what_is_in_the_middle_of_both_orders_comes_before_what_is_first_in_one(tenant: Cast) -> None:
    await save(tenant.alice, "car car car", "car")
    await save(tenant.alice, "Both", "My car is an automobile, a vehicle; and a garage has it.")
    await save(tenant.alice, "Meaning", "Automobile.")
    await rounds.embed(tenant.alice.scope)
    assert await found(tenant.alice, "car garage", limit=1) == ["Both"]
    titles = await found(tenant.alice, "car")
    assert titles[-1] == "Meaning" and len(titles) == 3


def test_the_tool_says_how_it_has_searched_and_phrases_are_words(stack: Stack, tenant: Cast) -> None:
    said = {"content": f'call: save_note {{"title": "Tyres", "content": "{WINTER}"}}', "model": "offline/demo"}
    assert httpx.post(f"{stack.url}/api/v1/chat", json=said, headers=tenant.alice.headers).status_code == 200
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        # As a round of the worker would, which beat asks for.
        from gateway.providers.demo.meaning import vector

        numbers = vector(f"Tyres\n{WINTER}")
        owner.execute(
            "UPDATE embeddings SET vector = %s::real[], model = 'offline/demo 512', next_at = NULL"
            " WHERE tenant_id = %s",
            [numbers, tenant.id],
        )
    for query, titles, by in (
        ("my vehicle", ["Tyres"], ["words", "meaning"]),
        ('"my vehicle"', [], ["words"]),
        ("vehicle -winter", [], ["words"]),
    ):
        answer = httpx.post(
            f"{stack.url}/api/v1/tools/search_notes/calls",
            json={"arguments": {"query": query}, "wait": 30},
            headers=tenant.alice.headers,
        ).json()
        assert answer["status"] == "success", answer
        output = answer["output"]
        assert ([note["title"] for note in output["notes"]], output["searched_by"]) == (titles, by)


async def test_what_was_edited_is_found_by_its_new_meaning_alone_and_what_is_deleted_is_gone(tenant: Cast) -> None:
    note_id = await save(tenant.alice, "Tyres", WINTER)
    await rounds.embed(tenant.alice.scope)
    [before] = stored(tenant)
    async with transaction(tenant.alice.scope) as connection:
        await connection.execute("UPDATE notes SET title = 'Health', content = 'physician' WHERE id = %s", [note_id])
    [after] = stored(tenant)
    assert (after["vector"], after["model"], after["revision"]) == (None, "", before["revision"] + 1)
    # A vector of the old words that comes now is not stored.
    late = embeddings.Taken(before["id"], before["revision"], WINTER)
    assert await embeddings.store(tenant.alice.scope, "offline/demo", [late], [[1.0, 0.0]]) == 0
    assert await found(tenant.alice, "car") == []
    assert await rounds.embed(tenant.alice.scope) == 1
    assert (await found(tenant.alice, "doctor"), await found(tenant.alice, "car")) == (["Health"], [])
    async with transaction(tenant.alice.scope) as connection:
        await connection.execute("DELETE FROM notes WHERE id = %s", [note_id])
    assert stored(tenant) == []


async def test_erasing_somebody_erases_the_vectors_of_what_was_theirs(tenant: Cast) -> None:
    await save(tenant.alice, "Tyres", WINTER)
    await store(tenant.alice, "Drives an automobile.", "tenant")
    await save(tenant.bob, "His")
    await rounds.embed(tenant.alice.scope)
    async with transaction(tenant.alice.scope) as connection:
        await erasure.erase_user(connection, *tenant.alice.scope)
    assert [row["author_id"] for row in stored(tenant)] == [tenant.bob.scope.user_id]


async def test_nobody_finds_anothers_notes_by_their_meaning(tenant: Cast, other_tenant: Cast) -> None:
    for who in (tenant.alice, tenant.bob, other_tenant.alice):
        await save(who, f"Of {who.scope.user_id}", WINTER)
        await rounds.embed(who.scope)
    for who in (tenant.alice, tenant.bob, other_tenant.alice):
        assert await found(who, "vehicle") == [f"Of {who.scope.user_id}"]
    assert await found(tenant.olga, "vehicle") == []


async def test_a_memory_is_found_by_its_meaning_by_those_it_is_for(tenant: Cast) -> None:
    await store(tenant.alice, "Alice drives an automobile.")
    await store(tenant.alice, "With helpdesk: her automobile is red.", "agent", "helpdesk")
    await store(tenant.bob, "For all: the automobile is at the garage.", "tenant")
    assert await rounds.embed(tenant.alice.scope) == 2
    assert await rounds.embed(tenant.bob.scope) == 1
    assert set(await remembered(tenant.alice, "vehicle")) == {
        "Alice drives an automobile.", "For all: the automobile is at the garage.",
    }  # fmt: skip
    assert len(await remembered(tenant.alice, "vehicle", "helpdesk")) == 3
    assert await remembered(tenant.carol, "vehicle") == ["For all: the automobile is at the garage."]


def test_vectors_are_stored_as_what_a_database_without_the_extension_has_too() -> None:
    [row] = rows(
        "SELECT udt_name AS kind FROM information_schema.columns"
        " WHERE table_name = 'embeddings' AND column_name = 'vector'"
    )
    assert row["kind"] == "_float4"


async def test_without_the_extension_nothing_is_sent(
    tenant: Cast, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    await save(tenant.alice, "Tyres", WINTER)
    monkeypatch.setattr(embeddings, "_VECTORS", "SELECT to_regtype('public.no_vector') IS NOT NULL AS known")
    with own_model():
        assert await QueryMeanings().of(tenant.alice.scope, "car") is None
        assert await rounds.Rounds().go() == 0
    assert upstream.asked == []


async def test_a_tenants_own_provider_embeds_with_its_own_key_and_its_vectors_are_no_others(
    tenant: Cast, upstream: Upstream
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url, "sk-mine")
    await save(tenant.alice, "Tyres", WINTER)
    await save(tenant.alice, " ", "")
    with own_model():
        assert await rounds.embed(tenant.alice.scope) == 2
        assert await found(tenant.alice, "car") == ["Tyres"]
    assert [(key, model) for key, model, _ in upstream.asked] == [("sk-mine", "embedder")] * 2
    assert upstream.embedded == [[f"Tyres\n{WINTER}", "-"], ["car"]]
    assert {row["model"] for row in stored(tenant)} == {f"{OWN} of the tenant 512"}
    # Of length 1, whatever the provider sends.
    assert abs(sum(part * part for part in stored(tenant)[0]["vector"]) - 1) < 0.001
    # Another model finds none of them, and makes its own at the next chance.
    assert await found(tenant.alice, "car") == []
    await save(tenant.alice, "More")
    assert await rounds.embed(tenant.alice.scope) == 3
    assert await found(tenant.alice, "car") == ["Tyres"]
    assert {row["model"] for row in stored(tenant)} == {"offline/demo 512"}


async def test_what_is_not_allowed_or_stopped_is_not_sent(tenant: Cast, other_tenant: Cast, upstream: Upstream) -> None:
    for cast in (tenant, other_tenant):
        await beside(owners.add)(cast, "mine", upstream.url)
        await save(cast.alice, "Tyres", WINTER)
    await beside(owners.say)(tenant, allowed=["mine/chat-*"])
    await beside(owners.stop)(other_tenant, OWN)
    with own_model():
        for cast, why in ((tenant, "allow"), (other_tenant, "kill switch")):
            with pytest.raises(EmbeddingRefused, match=why):
                await rounds.embed(cast.alice.scope)
            assert await QueryMeanings().of(cast.alice.scope, "car") is None
    assert upstream.asked == []
    assert [row["tries"] for cast in (tenant, other_tenant) for row in stored(cast)] == [0, 0]


async def test_the_operators_provider_gets_nothing_of_a_tenant_that_may_not_use_it(
    tenant: Cast, upstream: Upstream
) -> None:
    slug = f"op-{uuid.uuid4().hex[:8]}"
    await beside(owners.of_operator)(slug, upstream.url)
    await beside(owners.offer)(tenant, [])
    await save(tenant.alice, "Tyres", WINTER)
    with override_settings(TOOLGATE_EMBEDDINGS=f"{slug}/embedder"):
        with pytest.raises(EmbeddingRefused):
            await rounds.embed(tenant.alice.scope)
        assert await QueryMeanings().of(tenant.alice.scope, "car") is None
        assert upstream.asked == []
        await beside(owners.offer)(tenant, [slug])
        assert await rounds.embed(tenant.alice.scope) == 1
    assert [key for key, *_ in upstream.asked] == ["sk-operator"]


async def test_embedding_is_charged_to_the_budgets_of_its_author_and_of_the_tenant(
    tenant: Cast, upstream: Upstream
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    await beside(owners.say)(tenant, prices=[{"model": "mine/*", "input": "2", "output": "0"}])
    tokens, dollars = make_budget(tenant, 1000, "tokens"), make_budget(tenant, 1, user_id=tenant.alice.scope.user_id)
    requests = make_budget(tenant, 0, "requests")
    await save(tenant.alice, "Tyres", WINTER)
    with own_model():
        assert await rounds.embed(tenant.alice.scope) == 1
        count = len(f"Tyres {WINTER}".split())
        assert (amounts(tokens)[0], amounts(dollars)[0]) == (count, count * Decimal("0.000002"))
        [row] = used(tenant)
        assert (row["model"], row["input_tokens"], row["output_tokens"], row["run_id"]) == (OWN, count, 0, None)
        assert (row["cost"], row["estimated"], row["user_id"]) == (
            count * Decimal("0.000002"), False, tenant.alice.scope.user_id,
        )  # fmt: skip
        # What asking cannot have cost is given back.
        upstream.statuses["embedder"] = 500
        with pytest.raises(EmbeddingFailed):
            await asking.vectors(tenant.alice.scope, await asking.model_for(tenant.alice.scope), ["car"])
        assert (amounts(tokens)[0], len(used(tenant))) == (count, 1)
        # What can cost more than is left is not asked.
        del upstream.statuses["embedder"]
        asked = len(upstream.asked)
        await save(tenant.alice, "Long", "word " * 300)
        with pytest.raises(EmbeddingRefused, match="is spent, or what is left is too little"):
            await rounds.embed(tenant.alice.scope)
        assert len(upstream.asked) == asked
    assert (amounts(requests)[0], stored(tenant)[1]["vector"]) == (0, None)


async def test_under_a_budget_of_money_a_model_without_a_price_embeds_nothing(tenant: Cast, upstream: Upstream) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    make_budget(tenant, 1)
    await save(tenant.alice, "Tyres", WINTER)
    with own_model():
        with pytest.raises(EmbeddingRefused):
            await rounds.embed(tenant.alice.scope)
        assert await found(tenant.alice, "automobile") == ["Tyres"]
    assert (upstream.asked, used(tenant)) == ([], [])


async def test_a_slow_or_broken_provider_leaves_a_search_its_words(
    tenant: Cast, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    await save(tenant.alice, "Tyres", WINTER)
    upstream.silent.add("embedder")
    with own_model():
        monkeypatch.setattr(queries, "SECONDS", 0.3)
        assert await found(tenant.alice, "automobile") == ["Tyres"]
        # One that keeps failing is not waited for any more.
        for _ in range(5):
            circuits.failed(tenant.id, "embeddings")
        asked = len(upstream.asked)
        assert await found(tenant.alice, "automobile") == ["Tyres"]
        assert len(upstream.asked) == asked
        # The round of what was written tries again later, and longer after each try.
        monkeypatch.setattr(rounds, "ASKING_SECONDS", 0.3)
        with pytest.raises(EmbeddingFailed, match="in time"):
            await rounds.embed(tenant.alice.scope)
    [row] = rows("SELECT tries, next_at > now() + interval '50 seconds' AS later FROM embeddings"
                 " WHERE tenant_id = %(t)s", t=tenant.id)  # fmt: skip
    assert (row["tries"], row["later"]) == (1, True)
