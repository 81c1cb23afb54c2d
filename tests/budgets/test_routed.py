"""Budgets with prices that owners have set, and with fallbacks."""

from decimal import Decimal
from typing import Any

from asgiref.sync import sync_to_async

from gateway.providers.errors import ProviderUnavailable
from tests.budgets.rows import amounts, make_budget, used
from tests.budgets.test_rest import Api
from tests.budgets.test_runs import NAME, _answer, _chat, play
from tests.people import Cast

__all__ = ["play"]


async def _say(tenant: Cast, **said: Any) -> None:
    status, answer = await sync_to_async(Api(tenant.olga), thread_sensitive=False)("PATCH", "/api/v1/models/", said)
    assert status == 200, answer


async def test_a_price_that_an_owner_has_set_is_reserved_and_charged(tenant: Cast, play: Any) -> None:
    await _say(tenant, prices=[{"model": "openai/*", "input": "100", "output": "200"}])
    budget = make_budget(tenant, 3)
    model = play(_answer())
    await _chat(tenant.alice, model="openai/no-such-model")
    [row] = used(tenant)
    assert (row["cost"], row["price"]) == (Decimal("0.06"), "tenant 1")
    assert amounts(budget) == (Decimal("0.06"), 0)
    assert model.asked[0].options.max_output_tokens < 4096


async def test_a_fallback_reserves_for_itself_and_what_failed_is_given_back(tenant: Cast, play: Any) -> None:
    await _say(tenant, fallbacks={NAME: ["openai/gpt-4o"]})
    budget = make_budget(tenant, 10, "requests")
    away = [ProviderUnavailable("away", status=503) for _ in range(3)]
    play(*away, _answer())
    view = await _chat(tenant.alice)
    assert view.run.status == "completed"
    assert amounts(budget) == (1, 0)
    assert [row["model"] for row in used(tenant)] == ["openai/gpt-4o"]
