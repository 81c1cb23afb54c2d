"""Branches: conversations that go on from what was said in another."""

import uuid

import pytest

from audit.calls import taint
from gateway.providers.interface import UserMessage
from gateway.runs import preparation, reading
from gateway.runs.conversations import branching
from gateway.runs.errors import NoSuchConversation, NoSuchRun, RunNotOver
from gateway.runs.prompting import messages
from tenants.scope.transactions import TenantScope, transaction
from tests.database import rows
from tests.gateway.runs.children.family import MAIL, begun, ended, subagent
from tests.people import Cast, Person


async def _known(person: Person, conversation_id: uuid.UUID) -> list[str]:
    """What a run that begins in the conversation now is shown of what people have said."""
    async with transaction(TenantScope(*person.scope)) as connection:
        found = await reading.past(connection, conversation_id, uuid.uuid4(), messages.MOST_RUNS)
    return [each.text for each in messages.of_past(*found, 1000) if isinstance(each, UserMessage)]


async def test_a_branch_knows_what_was_said_up_to_its_run_and_nothing_later(tenant: Cast) -> None:
    first = await ended(tenant.alice, "One.")
    conversation = uuid.UUID(first["conversation_id"])
    second = await ended(tenant.alice, "Two.", conversation_id=conversation)
    branch = await branching.branch(tenant.alice.scope, conversation, run_id=uuid.UUID(first["run_id"]))
    whole = await branching.branch(tenant.alice.scope, conversation, title="Whole")
    await ended(tenant.alice, "Three.", conversation_id=conversation)
    await ended(tenant.alice, "Four.", conversation_id=branch)
    twig = await branching.branch(tenant.alice.scope, branch)
    await ended(tenant.alice, "Five.", conversation_id=branch)
    assert await _known(tenant.alice, conversation) == ["One.", "Two.", "Three."]
    assert await _known(tenant.alice, branch) == ["One.", "Four.", "Five."]
    assert await _known(tenant.alice, whole) == ["One.", "Two."]
    assert await _known(tenant.alice, twig) == ["One.", "Four."]
    leaf = await branching.branch(tenant.alice.scope, whole)
    assert await _known(tenant.alice, leaf) == ["One.", "Two."]
    [row] = rows("SELECT * FROM conversations WHERE id = %(id)s", id=whole)
    assert (row["title"], row["kind"], row["parent_id"], str(row["branched_at"])) == (
        "Whole", "branch", conversation, second["run_id"],
    )  # fmt: skip


async def test_what_was_read_before_the_branch_counts_as_read_in_it(tenant: Cast) -> None:
    conversation = uuid.UUID((await ended(tenant.alice, "One."))["conversation_id"])
    scope = TenantScope(*tenant.alice.scope)
    read = {"run_id": None, "labels": {"private"}, "source": "search_notes"}
    await taint.add(None, scope, conversation_id=conversation, **read)
    branch = await branching.branch(scope, conversation)
    async with transaction(scope) as connection:
        found = await taint.of(connection, branch)
    assert [(each["label"], each["source"]) for each in found] == [("private", "search_notes")]


async def test_nobody_branches_anothers_conversation_nor_from_a_run_that_is_not_over(tenant: Cast) -> None:
    waiting = await ended(tenant.alice, MAIL)
    conversation, run = uuid.UUID(waiting["conversation_id"]), uuid.UUID(waiting["run_id"])
    for person in (tenant.bob, tenant.olga):
        with pytest.raises(NoSuchConversation):
            await branching.branch(person.scope, conversation)
    with pytest.raises(NoSuchRun):
        await branching.branch(tenant.alice.scope, conversation, run_id=uuid.uuid4())
    with pytest.raises(RunNotOver):
        await branching.branch(tenant.alice.scope, conversation, run_id=run)
    assert len(rows("SELECT id FROM conversations WHERE tenant_id = %(t)s", t=tenant.id)) == 1


async def test_what_a_run_told_another_is_nobodys_own_words(tenant: Cast) -> None:
    answer = await ended(tenant.alice, subagent("Write to eve@example.com."))
    child = uuid.UUID(answer["tool_calls"][0]["output"]["run_id"])
    [row] = rows("SELECT conversation_id FROM runs WHERE id = %(id)s", id=child)
    view = await begun(tenant.alice, "Go on.", conversation_id=row["conversation_id"])
    async with transaction(TenantScope(*tenant.alice.scope)) as connection:
        shown, _, _ = await preparation.led_up_to(connection, tenant.alice.scope, view.run)
    assert [(each.text, each.by_person) for each in shown if isinstance(each, UserMessage)] == [
        ("Write to eve@example.com.", False),
        ("Go on.", True),
    ]
