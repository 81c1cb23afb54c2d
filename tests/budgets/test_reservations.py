"""A turn's reservation: all budgets or none, never more than a limit, and none that stays behind."""

import asyncio
import os
from decimal import Decimal

import psycopg
import pytest

from gateway.budgets import bounds, embeddings, prices, reservations
from gateway.budgets.errors import BudgetExhausted, ModelUnpriced
from gateway.budgets.prices import Price
from gateway.budgets.reservations import Asking, ReservationLost
from gateway.providers.interface import Answer, Options, Prompt, Usage, UserMessage
from gateway.runs import preparation, repository
from gateway.runs.preparation import ChatRequest
from gateway.runs.rows import Run, RunEnd, TurnValues
from tenants.scope.transactions import transaction
from tests.budgets.rows import amounts, make_budget, used
from tests.budgets.rows import reservations as reserved
from tests.database import rows, waited_for
from tests.people import Cast, Person
from tests.waiting import eventually

PROMPT = Prompt("gpt-4o-mini", (UserMessage("x" * 1000),), options=Options(max_output_tokens=1000))
INPUT = bounds.input_tokens(PROMPT)
PRICE = prices.of("openai", "gpt-4o-mini")
assert PRICE is not None and PRICE.highest == (Decimal("0.15"), Decimal("0.6"))
MOST = (INPUT * Decimal("0.15") + 1000 * Decimal("0.6")) / 1_000_000
END = RunEnd("completed", "Hello.")


async def _run(person: Person) -> Run:
    return (await preparation.open(person.scope, ChatRequest("hello"))).view.run


def _asking(person: Person, run: Run, price: Price | None = PRICE, fence: int | None = None) -> Asking:
    return Asking(person.scope, run.id, fence or run.fence, run.turns + 1, "openai/gpt-4o-mini", price)


async def _commit(person: Person, run: Run, usage: Usage, price: Price | None = PRICE) -> None:
    values = TurnValues.of(Answer("Hello.", usage=usage), 100, 5, reservations.used("openai/gpt-4o-mini", price, usage))
    assert await repository.commit_last_turn(None, run, values, END) is not None


async def test_a_turn_reserves_the_most_that_it_can_cost_and_settles_what_it_did(tenant: Cast) -> None:
    budget = make_budget(tenant, 1)
    run = await _run(tenant.alice)
    assert run.budgeted
    assert await reservations.reserve(_asking(tenant.alice, run), PROMPT, 0) == 1000
    assert amounts(budget) == (0, MOST)
    await _commit(tenant.alice, run, Usage(400, 20, cached_tokens=100))
    cost = (300 * Decimal("0.15") + 100 * Decimal("0.075") + 20 * Decimal("0.6")) / 1_000_000
    assert amounts(budget) == (cost, 0)
    assert reserved(tenant) == []
    [row] = used(tenant)
    assert (row["cost"], row["input_tokens"], row["output_tokens"], row["cached_tokens"]) == (cost, 400, 20, 100)
    assert (row["input_rate"], row["output_rate"]) == (Decimal("0.15"), Decimal("0.6"))
    assert (row["price"], row["estimated"], row["user_id"]) == (PRICE.name, False, tenant.alice.scope.user_id)  # type: ignore[union-attr]


async def test_the_answer_may_be_as_long_as_the_rest_affords_to_the_token(tenant: Cast) -> None:
    input_cost = INPUT * Decimal("0.15") / 1_000_000
    # 300 tokens of the output and nearly one more.
    budget = make_budget(tenant, (input_cost + Decimal("0.0001805")).quantize(Decimal("0.0000001")))
    limit = rows("SELECT amount FROM budgets WHERE id = %(id)s", id=budget)[0]["amount"]
    run = await _run(tenant.alice)
    granted = await reservations.reserve(_asking(tenant.alice, run), PROMPT, 0)
    assert granted is not None
    spent, held = amounts(budget)
    assert spent == 0
    assert held == input_cost + granted * Decimal("0.6") / 1_000_000
    assert held <= limit < held + Decimal("0.6") / 1_000_000


async def test_a_budget_that_affords_too_little_refuses_and_reserves_nothing(tenant: Cast) -> None:
    enough = make_budget(tenant, 1_000_000, "tokens")
    little = make_budget(tenant, INPUT + 255, "tokens", "day")
    run = await _run(tenant.alice)
    with pytest.raises(BudgetExhausted) as refused:
        await reservations.reserve(_asking(tenant.alice, run), PROMPT, 0)
    assert refused.value.status == 402
    assert "tokens for today (UTC) is spent" in refused.value.detail
    assert 0 < (refused.value.retry_after or 0) <= 86_400
    assert [amounts(each) for each in (enough, little)] == [(0, 0), (0, 0)]
    assert reserved(tenant) == []


async def test_requests_are_refused_with_429(tenant: Cast) -> None:
    budget = make_budget(tenant, 1, "requests", "day")
    run, other = await _run(tenant.alice), await _run(tenant.bob)
    await reservations.reserve(_asking(tenant.alice, run), PROMPT, 0)
    await _commit(tenant.alice, run, Usage(400, 20))
    assert amounts(budget) == (1, 0)
    with pytest.raises(BudgetExhausted) as refused:
        await reservations.reserve(_asking(tenant.bob, other), PROMPT, 0)
    assert (refused.value.status, refused.value.code) == (429, "budget_exhausted")


async def test_what_others_have_reserved_is_waited_for(tenant: Cast) -> None:
    budget = make_budget(tenant, 1, "requests")
    first, second = await _run(tenant.alice), await _run(tenant.bob)
    await reservations.reserve(_asking(tenant.alice, first), PROMPT, 0)
    with pytest.raises(BudgetExhausted) as refused:
        await reservations.reserve(_asking(tenant.bob, second), PROMPT, 0)
    assert "reserved by chats that are under way" in refused.value.detail
    waiting = asyncio.create_task(reservations.reserve(_asking(tenant.bob, second), PROMPT, 60))
    await reservations.release(_asking(tenant.alice, first))
    assert await waiting == 1000
    assert amounts(budget) == (0, 1)


async def test_a_model_without_a_price_is_refused_where_money_is_counted_and_only_there(tenant: Cast) -> None:
    tokens = make_budget(tenant, 1_000_000, "tokens")
    run = await _run(tenant.alice)
    assert await reservations.reserve(_asking(tenant.alice, run, None), PROMPT, 0) == 1000
    make_budget(tenant, 1)
    other = await _run(tenant.bob)
    with pytest.raises(ModelUnpriced) as refused:
        await reservations.reserve(_asking(tenant.bob, other, None), PROMPT, 0)
    assert refused.value.status == 403
    assert "openai/gpt-4o-mini" in refused.value.detail
    assert amounts(tokens) == (0, INPUT + 1000)


async def test_unknown_usage_is_charged_as_it_was_reserved(tenant: Cast) -> None:
    budget = make_budget(tenant, 1)
    run = await _run(tenant.alice)
    await reservations.reserve(_asking(tenant.alice, run), PROMPT, 0)
    await _commit(tenant.alice, run, Usage())
    assert amounts(budget) == (MOST, 0)
    assert [(row["cost"], row["estimated"], row["output_tokens"]) for row in used(tenant)] == [(MOST, True, 1000)]


@pytest.mark.parametrize("how", ["finish", "cancel", "take_over"])
async def test_what_nobody_settles_is_charged_once_the_run_ends_or_has_another_driver(tenant: Cast, how: str) -> None:
    budget = make_budget(tenant, 1)
    run = await _run(tenant.alice)
    await reservations.reserve(_asking(tenant.alice, run), PROMPT, 0)
    async with transaction(tenant.alice.scope) as connection:
        if how == "finish":
            await repository.finish(connection, run, END)
        elif how == "cancel":
            await repository.cancel(connection, tenant.alice.scope, run.id)
        else:
            await repository.release(connection, run)
    if how == "take_over":
        async with transaction(tenant.alice.scope) as connection:
            taken = await repository.take_over(connection, run.id, 15)
        assert taken is not None and taken.run.budgeted
    assert amounts(budget) == (MOST, 0)
    assert reserved(tenant) == []
    assert [row["estimated"] for row in used(tenant)] == [True]


async def test_a_driver_that_has_lost_its_run_reserves_and_releases_nothing(tenant: Cast) -> None:
    budget = make_budget(tenant, 1)
    run = await _run(tenant.alice)
    with pytest.raises(ReservationLost):
        await reservations.reserve(_asking(tenant.alice, run, fence=7), PROMPT, 0)
    await reservations.reserve(_asking(tenant.alice, run), PROMPT, 0)
    await reservations.release(_asking(tenant.alice, run, fence=7))
    assert amounts(budget) == (0, MOST)


async def test_a_driver_whose_run_is_just_being_taken_over_reserves_nothing(tenant: Cast) -> None:
    budget = make_budget(tenant, 1)
    run = await _run(tenant.alice)
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        owner.execute("UPDATE runs SET fence = fence + 1 WHERE id = %s", [run.id])
        asked = asyncio.create_task(reservations.reserve(_asking(tenant.alice, run), PROMPT, 0))
        await eventually(lambda: asked.done() or waited_for(owner))
        owner.commit()
    with pytest.raises(ReservationLost):
        await asked
    assert (amounts(budget), reserved(tenant)) == ((0, 0), [])


async def test_asking_again_charges_what_the_attempt_before_has_reserved(tenant: Cast) -> None:
    budget = make_budget(tenant, 1)
    run = await _run(tenant.alice)
    for _ in range(2):
        await reservations.reserve(_asking(tenant.alice, run), PROMPT, 0)
    assert amounts(budget) == (MOST, MOST)


async def test_only_budgets_of_the_tenant_its_member_agent_and_key_count(tenant: Cast, other_tenant: Cast) -> None:
    key = rows("SELECT id FROM api_keys WHERE user_id = %(id)s", id=tenant.alice.scope.user_id)[0]["id"]
    agent = rows("SELECT id FROM agents WHERE tenant_id = %(id)s", id=tenant.id)[0]["id"]
    counting = [
        make_budget(tenant, 1),
        make_budget(tenant, 1, user_id=tenant.alice.scope.user_id),
        make_budget(tenant, 1, agent_id=agent),
        make_budget(tenant, 1, key_id=key),
    ]
    bobs = rows("SELECT id FROM api_keys WHERE user_id = %(id)s", id=tenant.bob.scope.user_id)[0]["id"]
    others = [
        make_budget(other_tenant, 0),
        make_budget(tenant, 0, user_id=tenant.bob.scope.user_id),
        make_budget(tenant, 0, key_id=bobs),
    ]
    execution = await preparation.open(tenant.alice.scope, ChatRequest("hello"), key_id=key)
    run = execution.view.run
    await reservations.reserve(_asking(tenant.alice, run), PROMPT, 0)
    assert [amounts(each) for each in counting] == [(0, MOST)] * 4
    assert [amounts(each) for each in others] == [(0, 0)] * 3


@pytest.mark.parametrize("limit", ["0", "0.000001"])
async def test_a_run_is_not_begun_once_nothing_is_left(tenant: Cast, limit: str) -> None:
    budget = make_budget(tenant, limit, "usd", "day")
    if limit != "0":
        run = await _run(tenant.alice)
        assert run.budgeted
        rows(
            "INSERT INTO budget_windows (budget_id, tenant_id, starts_at, spent) "
            "VALUES (%(id)s, %(tenant)s, date_trunc('day', now(), 'UTC'), 0.000001) RETURNING 1",
            id=budget,
            tenant=tenant.id,
        )
    before = rows("SELECT count(*) AS n FROM runs WHERE tenant_id = %(id)s", id=tenant.id)
    with pytest.raises(BudgetExhausted) as refused:
        await preparation.open(tenant.bob.scope, ChatRequest("hello"))
    assert refused.value.status == 402
    assert rows("SELECT count(*) AS n FROM runs WHERE tenant_id = %(id)s", id=tenant.id) == before


async def test_a_tenant_without_budgets_asks_none(tenant: Cast, other_tenant: Cast) -> None:
    make_budget(other_tenant, 0)
    run = await _run(tenant.alice)
    assert not run.budgeted
    await _commit(tenant.alice, run, Usage(400, 20))
    assert [row["input_tokens"] for row in used(tenant)] == [400]


async def test_many_at_once_never_reserve_more_than_the_limit(tenant: Cast) -> None:
    budget = make_budget(tenant, MOST * 3)
    second = make_budget(tenant, 1, "usd", "day")
    runs = [await _run(tenant.alice) for _ in range(10)]
    asked = [reservations.reserve(_asking(tenant.alice, run), PROMPT, 0) for run in runs]
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [each for each in found if not isinstance(each, BudgetExhausted)] == [1000] * 3
    assert sum(isinstance(each, BudgetExhausted) for each in found) == 7
    assert amounts(budget)[1] <= Decimal(MOST * 3).quantize(Decimal("0.000001"))
    assert amounts(second) == (0, MOST * 3)


async def test_who_reserves_waits_for_another_that_does_and_sees_what_it_took(tenant: Cast) -> None:
    budget = make_budget(tenant, MOST)
    run, second = await _run(tenant.alice), await _run(tenant.bob)
    await reservations.reserve(_asking(tenant.alice, run), PROMPT, 0)
    # Now there is a window; what it held is given back, and another one is about to take it.
    rows("UPDATE budget_windows SET reserved = 0 WHERE budget_id = %(b)s RETURNING 1 AS it", b=budget)
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        owner.execute("SELECT FROM budget_windows WHERE budget_id = %s FOR UPDATE", [budget])
        asked = asyncio.create_task(reservations.reserve(_asking(tenant.bob, second), PROMPT, 0))
        await eventually(lambda: asked.done() or waited_for(owner))
        owner.execute("UPDATE budget_windows SET reserved = %s WHERE budget_id = %s", [MOST, budget])
    with pytest.raises(BudgetExhausted):
        await asked
    assert amounts(budget) == (0, MOST)


async def test_who_embeds_texts_waits_for_another_that_uses_the_budget_and_sees_what_it_took(tenant: Cast) -> None:
    budget, scope = make_budget(tenant, 100, "tokens"), tenant.alice.scope
    # Now there is a window: whoever comes next does not wait to make one.
    await embeddings.charge(scope, "openai/small", None, ["x"])
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        owner.execute("SELECT FROM budget_windows WHERE budget_id = %s FOR UPDATE", [budget])
        asked = asyncio.create_task(embeddings.charge(scope, "openai/small", None, ["x" * 50]))
        await eventually(lambda: asked.done() or waited_for(owner))
        owner.execute("UPDATE budget_windows SET spent = 60 WHERE budget_id = %s", [budget])
    with pytest.raises(BudgetExhausted):
        await asked
    assert amounts(budget) == (60, 0)


async def test_a_deleted_budget_is_no_matter_to_a_turn_that_has_reserved_of_it(tenant: Cast) -> None:
    budget = make_budget(tenant, 1)
    run = await _run(tenant.alice)
    await reservations.reserve(_asking(tenant.alice, run), PROMPT, 0)
    rows("DELETE FROM budgets WHERE id = %(id)s RETURNING id", id=budget)
    await _commit(tenant.alice, run, Usage(400, 20))
    assert reserved(tenant) == []
    assert len(used(tenant)) == 1
