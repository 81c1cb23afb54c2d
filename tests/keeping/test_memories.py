"""What models remember: stored and found by the tools, within one's person, agent and tenant."""

import uuid
from typing import Any

import pytest

from tenants.scope.transactions import TenantScope, transaction
from tests.approvals.api import decide
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack
from tests.tools.context import context
from tests.waiting import until
from tools.builtin.memory.memory_search import MemorySearch
from tools.builtin.memory.memory_store import MemoryStoreTool
from tools.errors import ToolCallRejected, ToolValidationError
from tools.interface import Artifact, CallFacts, Tier, Tool
from tools.stores import MemoryStore, erasure, memories

CALL = uuid.UUID(int=7)


async def _run(who: Person, tool: Tool, agent: str | None = "default", **arguments: Any) -> Any:
    principal = who.principal
    async with transaction(TenantScope(principal.tenant_id, principal.user_id)) as connection:
        store = MemoryStore(connection, call_id=CALL, conversation_id=None, agent=agent)
        return await tool.execute(arguments, context(memories=store))


async def _store(who: Person, content: str, agent: str | None = "default", **more: Any) -> str:
    return str((await _run(who, MemoryStoreTool(), agent, content=content, **more)).output["memory_id"])


async def _found(who: Person, query: str, agent: str | None = "default", **more: Any) -> list[str]:
    output = (await _run(who, MemorySearch(), agent, query=query, **more)).output
    return [memory["content"] for memory in output["memories"]]


def _count(tenant: Cast) -> int:
    return len(rows("SELECT id FROM memories WHERE tenant_id = %(t)s", t=tenant.id))


async def test_what_is_stored_is_found_by_other_forms_of_its_words_and_its_tags(tenant: Cast) -> None:
    result = await _run(tenant.alice, MemoryStoreTool(), content="Likes quiet\nhotels.", tags=["Travel", "Travel"])
    memory_id = result.output["memory_id"]
    assert result.output == {"memory_id": memory_id, "stored": True}
    assert result.display == "Remembered: “Likes quiet hotels.”"
    assert result.artifacts == (Artifact("memory", memory_id, "created"),)
    await _store(tenant.alice, "Flies to Oslo in March.")
    found = await _run(tenant.alice, MemorySearch(), query="hotel")
    [memory] = found.output["memories"]
    assert memory | {"created_at": ""} == {
        "memory_id": memory_id, "content": "Likes quiet\nhotels.", "tags": ["Travel"], "scope": "user",
        "created_at": "",
    }  # fmt: skip
    assert (found.display, found.reads) == ("1 memory for “hotel”", frozenset())
    assert await _found(tenant.alice, "travel") == ["Likes quiet\nhotels."]
    assert await _found(tenant.alice, "which hotel in oslo", limit=2) == [
        "Flies to Oslo in March.",
        "Likes quiet\nhotels.",
    ]
    assert await _found(tenant.alice, '"hotels quiet"') == []
    [row] = rows("SELECT source_call_id, author_id FROM memories WHERE id = %(id)s", id=memory_id)
    assert (row["source_call_id"], row["author_id"]) == (CALL, tenant.alice.principal.user_id)


async def test_a_memory_is_found_by_those_it_is_for_and_by_nobody_else(tenant: Cast, other_tenant: Cast) -> None:
    await _store(tenant.alice, "zebra for alice")
    await _store(tenant.alice, "zebra for alice with helpdesk", "helpdesk", scope="agent")
    await _store(tenant.alice, "zebra for all", scope="tenant")
    assert sorted(await _found(tenant.alice, "zebra")) == ["zebra for alice", "zebra for all"]
    assert sorted(await _found(tenant.alice, "zebra", "helpdesk")) == [
        "zebra for alice", "zebra for alice with helpdesk", "zebra for all",
    ]  # fmt: skip
    for agent in ("default", "helpdesk"):
        assert await _found(tenant.bob, "zebra", agent) == ["zebra for all"]
        assert await _found(other_tenant.alice, "zebra", agent) == []


@pytest.mark.parametrize("words", ["seen=%s", "person=%s", "'seen=%s'", "zebra | seen=%s", "' | & ! :* \\ %s"])
async def test_no_words_reach_beyond_what_is_ones_own(tenant: Cast, words: str) -> None:
    await _store(tenant.alice, "zebra")
    await _store(tenant.alice, "zebra with helpdesk", "helpdesk", scope="agent")
    assert await _found(tenant.bob, words % tenant.alice.principal.user_id) == []


async def test_a_call_of_no_agent_stores_nothing_for_one(tenant: Cast) -> None:
    with pytest.raises(ToolValidationError, match="No agent makes this call") as caught:
        await _store(tenant.alice, "zebra", None, scope="agent")
    assert caught.value.field == "scope"
    assert _count(tenant) == 0


async def test_more_than_a_person_or_tenant_may_have_is_refused_and_nothing_is_lost(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "MOST_OWN", 2)
    monkeypatch.setattr(memories, "MOST_SHARED", 1)
    await _store(tenant.alice, "one")
    await _store(tenant.alice, "two", scope="agent")
    with pytest.raises(ToolCallRejected, match="Delete some first"):
        await _store(tenant.alice, "three")
    await _store(tenant.bob, "his", scope="tenant")
    with pytest.raises(ToolCallRejected, match="owner can delete some"):
        await _store(tenant.alice, "hers", scope="tenant")
    await _store(tenant.bob, "one")
    assert _count(tenant) == 4


@pytest.mark.parametrize(
    ("arguments", "tier"),
    [
        ({"content": "a"}, Tier.WORKSPACE),
        ({"content": "a", "scope": "user"}, Tier.WORKSPACE),
        ({"content": "a", "scope": "agent"}, Tier.WORKSPACE),
        ({"content": "a", "scope": "tenant"}, Tier.ELEVATED),
        ({"content": "a", "scope": ["user"]}, Tier.ELEVATED),
    ],
    ids=["by default", "user", "agent", "tenant", "no word"],
)
def test_only_what_is_remembered_for_everybody_needs_a_human(arguments: dict[str, Any], tier: Tier) -> None:
    assert MemoryStoreTool().tier_of(arguments, CallFacts()) is tier


async def test_memories_follow_their_authors_language(tenant: Cast) -> None:
    from asgiref.sync import sync_to_async

    from tenants.models import User
    from tenants.scope.routing import on_login

    await _store(tenant.alice, "Die Häuser sind alt")
    assert await _found(tenant.alice, "Haus") == []

    def german() -> None:
        with on_login("operator"):
            User.objects.filter(pk=tenant.alice.principal.user_id).update(language="german")

    await sync_to_async(german)()
    assert await _found(tenant.alice, "Haus") == ["Die Häuser sind alt"]


async def test_erasing_somebody_erases_what_they_stored_for_whomever_and_no_more(tenant: Cast) -> None:
    await _store(tenant.alice, "own")
    await _store(tenant.alice, "shared", scope="tenant")
    await _store(tenant.bob, "his")
    principal = tenant.alice.principal
    async with transaction(TenantScope(principal.tenant_id, principal.user_id)) as connection:
        assert await erasure.erase_user(connection, principal.tenant_id, principal.user_id) == 2
    assert [row["content"] for row in rows("SELECT content FROM memories WHERE tenant_id = %(t)s", t=tenant.id)] == [
        "his"
    ]


def test_a_memory_taints_whoever_finds_it_with_what_it_was_stored_after(stack: Stack, tenant: Cast) -> None:
    poison = 'call: memory_store {"content": "The zebra is striped", "scope": "tenant"}'
    lines = ['call: web_search {"query": "zebra"}', "then:", poison]
    body = stack.chat(tenant.alice, "\n".join(lines)).json()
    [request] = rows("SELECT id, call_id FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)
    assert body["status"] == "requires_action"
    assert _count(tenant) == 0
    decide(stack, tenant.carol, request["id"], "approve")
    until(lambda: stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}").json()["status"] == "completed")
    [memory] = rows("SELECT * FROM memories WHERE tenant_id = %(t)s", t=tenant.id)
    assert (memory["taint"], memory["source_call_id"], memory["user_id"]) == (["untrusted"], request["call_id"], None)

    found = stack.chat(tenant.bob, "What do you remember about zebras?").json()
    assert "The zebra is striped" in found["content"]
    sources = rows("SELECT label, source FROM taint_sources WHERE conversation_id = %(c)s", c=found["conversation_id"])
    assert {(row["label"], row["source"]) for row in sources} == {
        ("private", "memory_search"), ("untrusted", "memory_search"),
    }  # fmt: skip


def test_what_a_user_has_a_model_remember_needs_nobody(stack: Stack, tenant: Cast) -> None:
    kept = stack.chat(tenant.alice, "Keep in mind that the office closes at six.").json()
    assert (kept["status"], [call["status"] for call in kept["tool_calls"]]) == ("completed", ["success"])
    assert 'I will remember: "the office closes at six"' in kept["content"]
    found = stack.chat(tenant.alice, "What do you remember about the office?").json()
    assert "- the office closes at six" in found["content"]


def test_without_a_tenant_or_user_nothing_is_found(tenant: Cast) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM find_memories('zebra', '', 10)")
        assert cursor.fetchall() == []
