"""The money of a run: reserved before each of its turns by its model's price, and carved for the runs that it begins.

What holds of its tokens holds of it too; here a token costs a millionth of a US dollar.
"""

import asyncio
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest

from gateway.budgets import bounds, prices, reservations
from gateway.budgets.errors import ModelUnpriced, RunMoneySpent
from gateway.budgets.prices import Price
from gateway.budgets.reservations import Asking
from gateway.providers.interface import Answer, Options, Prompt, Usage, UserMessage
from gateway.providers.routing.prices import Price as OwnPrice
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

MILLIONTH = Decimal("0.000001")
LIMIT = Decimal("0.4")
PROMPT = Prompt("gpt-4o-mini", (UserMessage("x" * 1000),), options=Options(max_output_tokens=1000))
INPUT_TOKENS = bounds.input_tokens
INPUT = INPUT_TOKENS(PROMPT)
PRICE = prices.of("openai", "gpt-4o-mini", OwnPrice(Decimal(1), Decimal(1), None, "tenant", 1))
END = RunEnd("completed", "Hello.")


async def _counted(person: Person, run_id: uuid.UUID) -> Decimal:
    """What counts against a run's money."""
    async with transaction(person.scope) as connection:
        row = await (await connection.execute("SELECT run_usd(%s) AS n", [run_id])).fetchone()
    assert row is not None
    return Decimal(row["n"])


def _given(run: dict[str, Any]) -> Decimal:
    return Decimal(run["profile"]["max_run_usd"])


def _used(run: dict[str, Any]) -> Decimal:
    return (run["input_tokens"] + run["output_tokens"]) * MILLIONTH


def _priced(cast: Cast) -> None:
    """From now on the demo model costs the tenant's members something."""
    price = json.dumps([{"model": "offline/*", "input": "1", "output": "1"}])
    insert = """
        INSERT INTO model_settings (id, tenant_id, fallbacks, prices, version)
        VALUES (gen_random_uuid(), %(t)s, '{}', %(p)s, 1) RETURNING id"""
    assert rows(insert, t=cast.id, p=price)


# --- its own turns ----------------------------------------------------------------------------------------------------
async def _run(cast: Cast, most: Decimal | None, **more: Any) -> Run:
    """A run of an agent with that limit, which nobody drives."""
    slug = f"agent-{uuid.uuid4().hex[:8]}"
    await agent_of(cast, slug, max_run_usd=most, **more)
    return (await preparation.open(cast.alice.scope, ChatRequest("hello", agent=slug))).view.run


def _asking(cast: Cast, run: Run, price: Price | None = PRICE) -> Asking:
    return Asking(cast.alice.scope, run.id, run.fence, 1, "openai/gpt-4o-mini", price)


async def _commit(run: Run, usage: Usage) -> None:
    values = TurnValues.of(Answer("Hello.", usage=usage), 100, 5, reservations.used("openai/gpt-4o-mini", PRICE, usage))
    assert await repository.commit_last_turn(None, run, values, END) is not None


async def test_a_turn_may_be_as_long_as_the_money_that_is_left_to_its_run_affords(tenant: Cast) -> None:
    run = await _run(tenant, (INPUT + 300) * MILLIONTH)
    assert run.budgeted
    assert await reservations.reserve(_asking(tenant, run), PROMPT, 0) == 300
    [held] = reserved(tenant)
    assert (Decimal(held["usage"]["cost"]), held["parts"]) == ((INPUT + 300) * MILLIONTH, [])
    assert await _counted(tenant.alice, run.id) == (INPUT + 300) * MILLIONTH
    await _commit(run, Usage(400, 20))
    assert (reserved(tenant), await _counted(tenant.alice, run.id)) == ([], 420 * MILLIONTH)


async def test_a_turn_that_costs_too_much_is_refused_with_words_that_say_who_can_change_it(tenant: Cast) -> None:
    run = await _run(tenant, (INPUT + 255) * MILLIONTH)
    with pytest.raises(RunMoneySpent) as refused:
        await reservations.reserve(_asking(tenant, run), PROMPT, 0)
    limit, needed = f"US${(INPUT + 255) * MILLIONTH}", f"US${(INPUT + 256) * MILLIONTH}"
    assert refused.value.detail == (
        f"This run may cost {limit} with all that it begins. Its first turn can cost {needed}. "
        "An owner of your tenant can raise the limit of its agent under Settings, Agents."
    )
    assert reserved(tenant) == []


async def test_a_turn_fits_into_the_runs_money_its_tokens_and_every_budget(tenant: Cast) -> None:
    budget = make_budget(tenant, (INPUT + 500) * MILLIONTH)
    run = await _run(tenant, (INPUT + 300) * MILLIONTH, max_run_tokens=INPUT + 400)
    assert await reservations.reserve(_asking(tenant, run), PROMPT, 0) == 300
    assert amounts(budget) == (0, (INPUT + 300) * MILLIONTH)
    await reservations.release(_asking(tenant, run))
    assert (amounts(budget), await _counted(tenant.alice, run.id)) == ((0, 0), 0)
    for money, tokens, granted in ((900, 400, 400), (900, 900, 500)):
        other = await _run(tenant, (INPUT + money) * MILLIONTH, max_run_tokens=INPUT + tokens)
        assert await reservations.reserve(_asking(tenant, other), PROMPT, 0) == granted
        await reservations.release(_asking(tenant, other))


async def test_a_model_without_a_price_is_refused_where_the_money_of_a_run_is_limited(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, free = await _run(tenant, LIMIT), await _run(tenant, None)
    with pytest.raises(ModelUnpriced) as refused:
        await reservations.reserve(_asking(tenant, run, None), PROMPT, 0)
    assert refused.value.detail.startswith(
        "Nobody knows the price of openai/gpt-4o-mini, and what a run of its agent may cost is limited."
    )
    assert (reserved(tenant), await _counted(tenant.alice, run.id)) == ([], 0)
    assert await reservations.reserve(_asking(tenant, free, None), PROMPT, 0) is None
    # Where the run's own model has none, nothing is begun.
    monkeypatch.setattr(prices, "of", lambda *given: None)
    before = len(tree(tenant.alice))
    with pytest.raises(ModelUnpriced):
        await _run(tenant, LIMIT)
    assert len(tree(tenant.alice)) == before
    await _run(tenant, None)


async def test_a_model_that_costs_nothing_runs_without_any_money(tenant: Cast) -> None:
    await agent_of(tenant, "free", max_run_usd=0)
    answer = await ended(tenant.alice, "Hello.", agent="free")
    assert (answer["status"], answer["usage"]["max_run_usd"]) == ("completed", "0")


@pytest.mark.parametrize("how", ["unknown", "finish", "cancel", "take_over", "asked_again"])
async def test_what_nobody_knows_the_cost_of_counts_as_it_was_reserved(tenant: Cast, how: str) -> None:
    run = await _run(tenant, (2 * INPUT + 2000) * MILLIONTH)
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
    assert await _counted(tenant.alice, run.id) == (INPUT + 1000) * MILLIONTH
    assert [row["estimated"] for row in used(tenant)] == [True]


@pytest.mark.parametrize("turns", [0, 1])
async def test_a_run_that_has_spent_its_money_is_incomplete_with_what_it_said(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    estimates: list[int] = []

    def estimate(prompt: Prompt) -> int:
        estimates.append(INPUT_TOKENS(prompt))
        return estimates[-1]

    monkeypatch.setattr(bounds, "input_tokens", estimate)
    _priced(tenant)
    await agent_of(tenant, "small", tools=["list_tasks"], max_run_usd=LIMIT)
    # A gate refuses it, so that nobody has to run it.
    script = 'call: list_tasks {"status": "nonsense"}'
    probe = await ended(tenant.alice, script, agent="small")
    assert (probe["status"], probe["usage"]["turns"], len(estimates)) == ("completed", 2, 2)
    # The first turn fits to the token, and then none does; or not even that one.
    most = (estimates[0] + bounds.LEAST_OUTPUT - (turns == 0)) * MILLIONTH
    limited = "UPDATE agents SET max_run_usd = %(n)s WHERE tenant_id = %(t)s AND slug = 'small' RETURNING id"
    rows(limited, n=most, t=tenant.id)
    answer = await ended(tenant.alice, script, agent="small")
    assert (answer["status"], answer["incomplete_reason"]) == ("incomplete", "tokens")
    assert answer["error"]["code"] == "run_usd_spent"
    assert f"may cost US${most.normalize()} with all that it begins" in answer["error"]["message"]
    assert (answer["usage"]["turns"], Decimal(answer["usage"]["max_run_usd"])) == (turns, most)
    assert len(answer["tool_calls"]) == turns
    found = await driver.replay(uuid.UUID(answer["run_id"]))
    assert (found.differences, found.stopped) == ([], "")


# --- the runs that it begins ------------------------------------------------------------------------------------------
async def test_a_child_has_half_of_the_money_that_is_left_and_gives_back_what_it_did_not_cost(tenant: Cast) -> None:
    _priced(tenant)
    await agent_of(tenant, "small", tools=["subagent"], max_run_usd=LIMIT)
    answer = await ended(tenant.alice, subagent("Hello."), agent="small")
    assert (answer["status"], answer["tool_calls"][0]["status"]) == ("completed", "success"), answer
    parent, child = tree(tenant.alice)
    first = next(row["cost"] for row in used(tenant) if (row["run_id"], row["turn"]) == (parent["id"], 1))
    assert 0 <= (LIMIT - first) / 2 - _given(child) < MILLIONTH
    assert 0 < _used(child) < _given(child)
    assert (
        await _counted(tenant.alice, parent["id"])
        == _used(parent) + _used(child)
        == sum(row["cost"] for row in used(tenant))
    )
    async with transaction(tenant.alice.scope) as connection:
        shown = await below.tree(connection, tenant.alice.scope, parent["id"])
    assert shown is not None
    usage = shown["usage"]
    assert (usage["max_run_usd"], Decimal(usage["run_usd"])) == ("0.4", _used(parent) + _used(child))
    assert Decimal(shown["children"][0]["usage"]["max_run_usd"]) == _given(child)


async def test_a_childs_own_limit_of_money_holds_where_it_is_lower_and_where_its_parent_has_none(tenant: Cast) -> None:
    _priced(tenant)
    await agent_of(tenant, "careful", max_run_usd=Decimal("0.15"))
    for slug, most in (("limited", 1), ("free", None)):
        await agent_of(tenant, slug, tools=["subagent", "careful"], max_run_usd=most)
        await ended(tenant.alice, subagent("Hello.", agent="careful"), agent=slug)
        _, child = tree(tenant.alice)[-2:]
        assert child["profile"]["max_run_usd"] == "0.15", slug


@pytest.mark.parametrize("at_once", [False, True])
async def test_siblings_share_the_money_that_is_left_and_never_have_more_together(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    _priced(tenant)
    await agent_of(tenant, "small", tools=["subagent"], max_run_usd=LIMIT)
    calls = await asked(tenant, monkeypatch, "One.", "Two.", "Three.", agent="small")
    begin = [execution.execute(*tenant.alice.scope, call, claims=True) for call in calls]
    begun = await asyncio.gather(*begin) if at_once else [await each for each in begin]
    assert None not in begun
    parent, *children = tree(tenant.alice)
    left = LIMIT - _used(parent)
    assert [abs(_given(child) - left / 4) <= 2 * MILLIONTH for child in children] == [True] * 3
    # All of it is theirs while they are open.
    assert await _counted(tenant.alice, parent["id"]) == _used(parent) + sum(map(_given, children)) <= LIMIT
    # One that ends gives back what it has not used, once, and one that is cancelled too.
    await driving.take_over(tenant.alice.scope, children[0]["id"])
    await eventually(lambda: tree(tenant.alice)[1]["status"] == "completed")
    await driving.take_over(tenant.alice.scope, children[0]["id"])
    async with transaction(tenant.alice.scope) as connection:
        for _ in range(2):
            await repository.cancel(connection, tenant.alice.scope, children[1]["id"])
    parent, first, second, third = tree(tenant.alice)
    assert (second["status"], _used(second)) == ("cancelled", 0)
    assert await _counted(tenant.alice, parent["id"]) == _used(parent) + _used(first) + _given(third)


@pytest.mark.parametrize("why", ["little money", "no price"])
async def test_a_run_whose_money_does_not_do_for_a_child_begins_none_and_is_told_why(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    _priced(tenant)
    await agent_of(tenant, "small", tools=["subagent"], max_run_usd=LIMIT)
    [call] = await asked(tenant, monkeypatch, "One.", agent="small")
    [parent] = tree(tenant.alice)
    if why == "no price":
        monkeypatch.setattr(prices, "of", lambda *given: None)
    else:
        # As if an asking had been lost.
        lost = LIMIT - (2 * bounds.LEAST_TURN - 1) * MILLIONTH
        rows("UPDATE runs SET cost = %(n)s WHERE id = %(id)s RETURNING id", n=lost, id=parent["id"])
    assert await execution.execute(*tenant.alice.scope, call, claims=True) is None
    [refused] = rows("SELECT * FROM tool_calls WHERE id = %(id)s", id=call)
    assert (refused["status"], refused["waits_on_run"]) == ("error", None)
    said = "Nobody knows the price of" if why == "no price" else "may cost US$0.4, and too little of that is left"
    assert said in refused["error_message"] and "owner" in refused["error_message"]
    assert len(tree(tenant.alice)) == 1


async def test_a_child_that_has_spent_its_money_answers_with_what_it_has(tenant: Cast) -> None:
    _priced(tenant)
    await agent_of(tenant, "tiny", tools=["list_tasks"], max_run_usd=bounds.LEAST_TURN * MILLIONTH)
    await agent_of(tenant, "small", tools=["subagent", "tiny"], max_run_usd=LIMIT)
    answer = await ended(tenant.alice, subagent("Hello.", agent="tiny"), agent="small")
    [call] = answer["tool_calls"]
    assert (call["status"], call["output"]["status"]) == ("success", "incomplete")
    assert call["output"]["incomplete_reason"] == "tokens"
    assert answer["status"] == "completed"
    _, child = tree(tenant.alice)
    assert "may cost US$0.001256" in child["error_message"]
    assert "or of the agent whose run began it" in child["error_message"]
