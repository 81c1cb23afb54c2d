"""Runs within budgets, from the request to its end."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from gateway.budgets import prices, reservations
from gateway.budgets.errors import BudgetExhausted, ModelUnpriced
from gateway.providers.errors import ProviderError, ProviderRefused, ProviderUnavailable
from gateway.providers.interface import Answer, SuggestedCall, Usage
from gateway.runs import loop
from gateway.runs.lifecycle import beginning, following
from gateway.runs.preparation import ChatRequest
from gateway.runs.replay import driver
from gateway.runs.view import RunView
from tests.budgets.rows import amounts, make_budget, used
from tests.budgets.rows import reservations as reserved
from tests.database import rows
from tests.gateway.runs.ports import Model, Providers
from tests.people import Cast, Person
from tests.waiting import PATIENCE_SECONDS

USAGE = Usage(500, 50)
NAME = "openai/gpt-4o-mini"
PRICE = prices.of("openai", "gpt-4o-mini")


class _Played(Model):
    name = "openai"
    family: Any = "openai"


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has the model of the runs answer with what is given."""

    def play(*answers: Answer | Exception) -> _Played:
        model = _Played(*answers)
        monkeypatch.setattr(loop, "providers", lambda: Providers(model))
        monkeypatch.setattr(reservations, "BUSY_SECONDS", 0.0)
        monkeypatch.setattr("gateway.providers.retry.FIRST_PAUSE", 0.0)
        return model

    return play


async def _chat(person: Person, content: str = "hello", model: str = NAME) -> RunView:
    view = await beginning.begin(person.principal, ChatRequest(content, model=model))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await following.until_rest(person.scope, view)
    return view


def _answer(text: str = "Hello.", *calls: SuggestedCall, usage: Usage = USAGE) -> Answer:
    return Answer(text, calls, "tool_calls" if calls else "stop", usage)


async def test_a_chat_asks_for_no_more_than_its_budget_affords_and_pays_what_it_used(tenant: Cast, play: Any) -> None:
    budget = make_budget(tenant, "0.004")
    model = play(_answer())
    view = await _chat(tenant.alice)
    assert (view.run.status, view.run.input_tokens) == ("completed", 500)
    [prompt] = model.asked
    assert 256 <= prompt.options.max_output_tokens < 4096
    assert amounts(budget) == (Decimal("0.000105"), 0)
    assert [row["model"] for row in used(tenant)] == [NAME]


async def test_without_a_budget_nothing_is_asked_otherwise(tenant: Cast, play: Any) -> None:
    model = play(_answer())
    await _chat(tenant.alice)
    assert model.asked[0].options.max_output_tokens is None
    [row] = used(tenant)
    assert (row["cost"], row["run_id"] is not None, row["key_id"]) == (Decimal("0.000105"), True, None)


async def test_a_budget_spent_in_the_middle_ends_the_run_with_what_was_said(tenant: Cast, play: Any) -> None:
    budget = make_budget(tenant, 1, "requests")
    call = SuggestedCall("1", "list_notes", "{}")
    play(_answer("I will look.", call), _answer())
    view = await _chat(tenant.alice)
    assert (view.run.status, view.run.incomplete_reason) == ("incomplete", "tokens")
    assert view.run.error_code == "budget_exhausted"
    assert "budget of 1 requests in all is spent" in (view.run.error_message or "")
    assert amounts(budget) == (1, 0)
    assert [row["tools"] for row in used(tenant)] == [["list_notes"]]
    found = await driver.replay(view.id)
    assert (found.differences, found.stopped) == ([], "")


async def test_a_first_turn_that_is_too_dear_fails_with_the_refusals_own_status(tenant: Cast, play: Any) -> None:
    make_budget(tenant, "0.0001")
    model = play(_answer())
    view = await _chat(tenant.alice)
    assert (view.run.status, view.run.error_code, view.run.error_status) == ("failed", "budget_exhausted", 402)
    assert model.asked == []
    assert (used(tenant), reserved(tenant)) == ([], [])
    found = await driver.replay(view.id)
    assert (found.differences, found.stopped) == ([], "")


async def test_a_spent_budget_begins_no_run(tenant: Cast, play: Any) -> None:
    make_budget(tenant, 0)
    model = play(_answer())
    with pytest.raises(BudgetExhausted):
        await _chat(tenant.alice)
    assert model.asked == []
    assert rows("SELECT id FROM runs WHERE tenant_id = %(id)s", id=tenant.id) == []


async def test_a_model_without_a_price_begins_no_run_where_money_is_counted(tenant: Cast, play: Any) -> None:
    make_budget(tenant, 5)
    model = play(_answer())
    with pytest.raises(ModelUnpriced):
        await _chat(tenant.alice, model="openai/no-such-model")
    assert model.asked == []
    assert rows("SELECT id FROM runs WHERE tenant_id = %(id)s", id=tenant.id) == []


@pytest.mark.parametrize(
    ("failure", "charged"),
    [
        (ProviderRefused("no", status=400), False),
        (ProviderUnavailable("away", status=503), False),
        (ProviderUnavailable("the connection was lost"), True),
    ],
    ids=["refused", "away", "lost"],
)
async def test_a_failure_costs_what_was_reserved_only_where_it_may_have_cost_something(
    tenant: Cast, play: Any, failure: ProviderError, charged: bool
) -> None:
    failure.retryable = False
    budget = make_budget(tenant, 1)
    play(failure)
    view = await _chat(tenant.alice)
    assert view.run.status == "failed"
    spent, held = amounts(budget)
    assert (spent > 0, held) == (charged, 0)
    assert [row["estimated"] for row in used(tenant)] == ([True] if charged else [])


async def test_each_attempt_reserves(tenant: Cast, play: Any) -> None:
    budget = make_budget(tenant, 100, "requests")
    play(ProviderUnavailable("the connection was lost"), ProviderUnavailable("away", status=503), _answer())
    view = await _chat(tenant.alice)
    assert view.run.status == "completed"
    assert amounts(budget) == (2, 0)
    assert [row["estimated"] for row in used(tenant)] == [True, False]
