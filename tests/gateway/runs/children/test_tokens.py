"""The tokens of a run: reserved before each of its turns, and carved for the runs that it begins."""

import asyncio
import uuid
from typing import Any

import pytest

from gateway.budgets import bounds, reservations
from gateway.budgets.errors import RunTokensSpent
from gateway.budgets.reservations import Asking
from gateway.providers.interface import Answer, Options, Prompt, Usage, UserMessage
from gateway.runs import preparation, repository
from gateway.runs.children import below
from gateway.runs.lifecycle import driving
from gateway.runs.preparation import ChatRequest
from gateway.runs.replay import driver
from gateway.runs.rows import Run, RunEnd, TurnValues
from tenants.scope.transactions import transaction
from tests.budgets.rows import amounts, make_budget, used
from tests.budgets.rows import reservations as reserved
from tests.database import rows
from tests.gateway.runs.children.family import asked, ended, subagent, tree
from tests.gateway.runs.children.test_starting import agent_of
from tests.people import Cast, Person
from tests.waiting import eventually
from tools.invocation.in_worker import execution

LIMIT = 400_000
PROMPT = Prompt("gpt-4o-mini", (UserMessage("x" * 1000),), options=Options(max_output_tokens=1000))
INPUT_TOKENS = bounds.input_tokens
INPUT = INPUT_TOKENS(PROMPT)
END = RunEnd("completed", "Hello.")


async def _counted(person: Person, run_id: uuid.UUID) -> int:
    """What counts against a run's tokens."""
    async with transaction(person.scope) as connection:
        row = await (await connection.execute("SELECT run_tokens(%s) AS n", [run_id])).fetchone()
    assert row is not None
    return int(row["n"])


def _given(run: dict[str, Any]) -> Any:
    return run["profile"]["max_run_tokens"]


def _used(run: dict[str, Any]) -> int:
    return int(run["input_tokens"] + run["output_tokens"])


def _first_turn(cast: Cast, run: dict[str, Any]) -> int:
    return sum(
        row["input_tokens"] + row["output_tokens"]
        for row in used(cast)
        if (row["run_id"], row["turn"]) == (run["id"], 1)
    )


# --- its own turns ----------------------------------------------------------------------------------------------------
async def _run(cast: Cast, most: int | None) -> Run:
    """A run of an agent with that limit, which nobody drives."""
    slug = f"agent-{uuid.uuid4().hex[:8]}"
    await agent_of(cast, slug, max_run_tokens=most)
    return (await preparation.open(cast.alice.scope, ChatRequest("hello", agent=slug))).view.run


def _asking(cast: Cast, run: Run, turn: int = 1) -> Asking:
    return Asking(cast.alice.scope, run.id, run.fence, turn, "openai/gpt-4o-mini", None)


async def _commit(run: Run, usage: Usage) -> None:
    values = TurnValues.of(Answer("Hello.", usage=usage), 100, 5, reservations.used("openai/gpt-4o-mini", None, usage))
    assert await repository.commit_last_turn(None, run, values, END) is not None


async def test_a_turn_may_be_as_long_as_the_tokens_that_are_left_to_its_run(tenant: Cast) -> None:
    run = await _run(tenant, INPUT + 300)
    assert run.budgeted
    assert await reservations.reserve(_asking(tenant, run), PROMPT, 0) == 300
    [held] = reserved(tenant)
    assert (held["usage"]["input"], held["usage"]["output"], held["parts"]) == (INPUT, 300, [])
    assert await _counted(tenant.alice, run.id) == INPUT + 300
    await _commit(run, Usage(400, 20))
    assert (reserved(tenant), await _counted(tenant.alice, run.id)) == ([], 420)


async def test_a_turn_that_does_not_fit_is_refused_with_words_that_say_who_can_change_it(tenant: Cast) -> None:
    run = await _run(tenant, INPUT + 255)
    with pytest.raises(RunTokensSpent) as refused:
        await reservations.reserve(_asking(tenant, run), PROMPT, 0)
    assert f"may use {INPUT + 255:,} tokens" in refused.value.detail
    assert "An owner of your tenant can raise" in refused.value.detail
    assert reserved(tenant) == []


async def test_a_run_without_a_limit_reserves_nothing(tenant: Cast) -> None:
    run = await _run(tenant, None)
    assert not run.budgeted
    assert await reservations.reserve(_asking(tenant, run), PROMPT, 0) is None
    assert reserved(tenant) == []


async def test_a_turn_fits_into_the_runs_tokens_and_into_every_budget(tenant: Cast) -> None:
    budget = make_budget(tenant, INPUT + 500, "tokens")
    narrow, wide = await _run(tenant, INPUT + 300), await _run(tenant, INPUT + 900)
    assert await reservations.reserve(_asking(tenant, narrow), PROMPT, 0) == 300
    assert amounts(budget) == (0, INPUT + 300)
    await reservations.release(_asking(tenant, narrow))
    assert amounts(budget) == (0, 0)
    assert await reservations.reserve(_asking(tenant, wide), PROMPT, 0) == 500


@pytest.mark.parametrize("how", ["unknown", "finish", "cancel", "take_over", "asked_again"])
async def test_what_nobody_knows_counts_as_it_was_reserved(tenant: Cast, how: str) -> None:
    run = await _run(tenant, 2 * INPUT + 2000)
    await reservations.reserve(_asking(tenant, run), PROMPT, 0)
    if how == "unknown":
        await _commit(run, Usage())
    elif how == "asked_again":
        assert await reservations.reserve(_asking(tenant, run), PROMPT, 0) == 1000
        await reservations.release(_asking(tenant, run))
    else:
        async with transaction(tenant.alice.scope) as connection:
            if how == "finish":
                await repository.finish(connection, run, END)
            elif how == "cancel":
                await repository.cancel(connection, tenant.alice.scope, run.id)
            else:
                await repository.release(connection, run)
        if how == "take_over":
            async with transaction(tenant.alice.scope) as connection:
                assert await repository.take_over(connection, run.id, 15) is not None
    assert reserved(tenant) == []
    assert await _counted(tenant.alice, run.id) == INPUT + 1000
    assert [row["estimated"] for row in used(tenant)] == [True]


@pytest.mark.parametrize("turns", [0, 1])
async def test_a_run_that_has_spent_its_tokens_is_incomplete_with_what_it_said(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    estimates: list[int] = []

    def estimate(prompt: Prompt) -> int:
        estimates.append(INPUT_TOKENS(prompt))
        return estimates[-1]

    monkeypatch.setattr(bounds, "input_tokens", estimate)
    await agent_of(tenant, "small", tools=["list_tasks"], max_run_tokens=LIMIT)
    # A gate refuses it, so that nobody has to run it.
    script = 'call: list_tasks {"status": "nonsense"}'
    probe = await ended(tenant.alice, script, agent="small")
    assert (probe["status"], probe["usage"]["turns"], len(estimates)) == ("completed", 2, 2)
    # The first turn fits to the token, and then none does; or not even that one.
    most = estimates[0] + bounds.LEAST_OUTPUT - (turns == 0)
    limited = "UPDATE agents SET max_run_tokens = %(n)s WHERE tenant_id = %(t)s AND slug = 'small' RETURNING id"
    rows(limited, n=most, t=tenant.id)
    answer = await ended(tenant.alice, script, agent="small")
    assert (answer["status"], answer["incomplete_reason"]) == ("incomplete", "tokens")
    assert answer["error"]["code"] == "run_tokens_spent"
    assert f"may use {most:,} tokens" in answer["error"]["message"]
    assert (answer["usage"]["turns"], answer["usage"]["max_run_tokens"]) == (turns, most)
    assert len(answer["tool_calls"]) == turns
    found = await driver.replay(uuid.UUID(answer["run_id"]))
    assert (found.differences, found.stopped) == ([], "")


# --- the runs that it begins ------------------------------------------------------------------------------------------
async def test_a_child_has_half_of_what_is_left_and_its_parent_is_charged_what_it_used(tenant: Cast) -> None:
    await agent_of(tenant, "small", tools=["subagent"], max_run_tokens=LIMIT)
    answer = await ended(tenant.alice, subagent("Hello."), agent="small")
    assert (answer["status"], answer["tool_calls"][0]["status"]) == ("completed", "success"), answer
    parent, child = tree(tenant.alice)
    assert _given(child) == (LIMIT - _first_turn(tenant, parent)) // 2
    assert 0 < _used(child) < _given(child)
    assert await _counted(tenant.alice, parent["id"]) == _used(parent) + _used(child)
    async with transaction(tenant.alice.scope) as connection:
        shown = await below.tree(connection, tenant.alice.scope, parent["id"])
    assert shown is not None
    usage = shown["usage"]
    assert (usage["max_run_tokens"], usage["run_tokens"]) == (LIMIT, _used(parent) + _used(child))
    assert shown["children"][0]["usage"]["max_run_tokens"] == _given(child)


async def test_a_childs_own_limit_holds_where_it_is_lower_and_where_its_parent_has_none(tenant: Cast) -> None:
    await agent_of(tenant, "careful", max_run_tokens=200_000)
    for slug, most in (("limited", 1_000_000), ("free", None)):
        await agent_of(tenant, slug, tools=["subagent", "careful"], max_run_tokens=most)
        await ended(tenant.alice, subagent("Hello.", agent="careful"), agent=slug)
        _, child = tree(tenant.alice)[-2:]
        assert _given(child) == 200_000, slug


@pytest.mark.parametrize("at_once", [False, True])
async def test_siblings_share_what_is_left_evenly_and_never_have_more_together(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    await agent_of(tenant, "small", tools=["subagent"], max_run_tokens=LIMIT)
    calls = await asked(tenant, monkeypatch, "One.", "Two.", "Three.", agent="small")
    begin = [execution.execute(*tenant.alice.scope, call, claims=True) for call in calls]
    begun = await asyncio.gather(*begin) if at_once else [await each for each in begin]
    assert None not in begun
    parent, *children = tree(tenant.alice)
    left = LIMIT - _used(parent)
    assert [abs(_given(child) - left // 4) <= 1 for child in children] == [True] * 3
    # All of it is theirs while they are open.
    assert await _counted(tenant.alice, parent["id"]) == _used(parent) + sum(map(_given, children)) <= LIMIT
    # One that ends gives back what it has not used, and one that is cancelled too.
    await driving.take_over(tenant.alice.scope, children[0]["id"])
    await eventually(lambda: tree(tenant.alice)[1]["status"] == "completed")
    async with transaction(tenant.alice.scope) as connection:
        await repository.cancel(connection, tenant.alice.scope, children[1]["id"])
    parent, first, second, third = tree(tenant.alice)
    assert (second["status"], _used(second)) == ("cancelled", 0)
    assert await _counted(tenant.alice, parent["id"]) == _used(parent) + _used(first) + _given(third)


async def test_a_run_with_too_few_tokens_left_begins_no_other_and_is_told_why(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent_of(tenant, "small", tools=["subagent"], max_run_tokens=LIMIT)
    [call] = await asked(tenant, monkeypatch, "One.", agent="small")
    [parent] = tree(tenant.alice)
    # As if an asking had been lost.
    lost = LIMIT - _used(parent) - 2 * bounds.LEAST_TURN + 1
    rows("UPDATE runs SET estimated_tokens = %(n)s WHERE id = %(id)s RETURNING id", n=lost, id=parent["id"])
    assert await execution.execute(*tenant.alice.scope, call, claims=True) is None
    [refused] = rows("SELECT * FROM tool_calls WHERE id = %(id)s", id=call)
    assert (refused["status"], refused["waits_on_run"]) == ("error", None)
    assert f"{LIMIT:,} tokens" in refused["error_message"] and "owner" in refused["error_message"]
    assert len(tree(tenant.alice)) == 1


async def test_a_child_that_has_spent_its_tokens_answers_with_what_it_has(tenant: Cast) -> None:
    await agent_of(tenant, "tiny", tools=["list_tasks"], max_run_tokens=bounds.LEAST_TURN)
    await agent_of(tenant, "small", tools=["subagent", "tiny"], max_run_tokens=LIMIT)
    answer = await ended(tenant.alice, subagent("Hello.", agent="tiny"), agent="small")
    [call] = answer["tool_calls"]
    assert (call["status"], call["output"]["status"]) == ("success", "incomplete")
    assert call["output"]["incomplete_reason"] == "tokens"
    assert answer["status"] == "completed"
    _, child = tree(tenant.alice)
    assert "may use 1,256 tokens" in child["error_message"]
    assert "or of the agent whose run began it" in child["error_message"]
