"""A turn's reservation: asked for before a model is, in PostgreSQL, which decides; settled by the turn's commit.

It belongs to a run, its turn and its driver's fence. Where nobody settles it, since the run ended or got another
driver, a trigger charges it as it was reserved.
"""

import asyncio
import time
import uuid
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.budgets import bounds
from gateway.budgets.errors import BudgetExhausted, BudgetRefusal, ModelUnpriced, RunMoneySpent, RunTokensSpent
from gateway.budgets.prices import Price
from gateway.providers.interface import Prompt, Usage
from tenants.scope.functions import Function
from tenants.scope.transactions import TenantScope

# How long a turn waits for what other runs have reserved, and how long between two looks.
BUSY_SECONDS, _PAUSES = 20.0, (0.2, 0.5, 1.0)
_RESERVE = Function(
    "reserve_turn", lambda *columns: columns, columns="outcome, granted, refusal",
    run_id="uuid", fence="int4", turn="int4", model="text", input_tokens="int8", output_tokens="int8",
    least_tokens="int8", input_rate="numeric", output_rate="numeric", price="text",
)  # fmt: skip
_RELEASE = Function("release_turn", bool, run_id="uuid", fence="int4")


class ReservationLost(Exception):
    """The run is not this driver's any more."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One asking of a model: the turn of a run, under its driver's fence, and what the model is called and costs."""

    scope: TenantScope
    run_id: uuid.UUID
    fence: int
    turn: int
    model: str
    price: Price | None


async def reserve(asking: Asking, prompt: Prompt, seconds: float) -> int | None:
    """Reserve what the prompt's answer can cost at the most; how many tokens it may have, or None where no limit
    applies. What only other runs' reservations stand against is waited for, up to `seconds`.

    Raises BudgetExhausted, ModelUnpriced, RunTokensSpent, RunMoneySpent, ReservationLost.
    """
    until = time.monotonic() + min(seconds, BUSY_SECONDS)
    asked, (wanted, least) = bounds.input_tokens(prompt), bounds.output_tokens(prompt)
    input_rate, output_rate = (None, None) if asking.price is None else asking.price.highest
    values = {
        "run_id": asking.run_id,
        "fence": asking.fence,
        "turn": asking.turn,
        "model": asking.model,
        "input_tokens": asked,
        "output_tokens": wanted,
        "least_tokens": least,
        "input_rate": input_rate,
        "output_rate": output_rate,
        "price": "" if asking.price is None else asking.price.name,
    }
    for pause in _pauses():
        [(outcome, granted, budget)] = await _RESERVE.alone(asking.scope, **values)
        if outcome == "lost":
            raise ReservationLost
        if outcome == "unpriced":
            raise ModelUnpriced(asking.model, budget)
        if outcome == "spent" and budget["scope"] == "run":
            if budget["unit"] == "usd" and asking.price is not None:
                raise RunMoneySpent(budget, needed=asking.price.most(asked, least))
            raise RunTokensSpent(budget, needed=asked + least)
        if outcome == "spent" or (outcome == "busy" and time.monotonic() + pause > until):
            raise BudgetExhausted(budget, busy=outcome == "busy")
        if outcome != "busy":
            return granted if outcome == "reserved" else None
        await asyncio.sleep(pause)
    raise AssertionError("the pauses have no end")


async def release(asking: Asking) -> None:
    """Give the reservation back: asking cannot have cost anything."""
    await _RELEASE.alone(asking.scope, run_id=asking.run_id, fence=asking.fence)


def refusal_of(outcome: str, model: str) -> BudgetRefusal | None:
    """Why `begin_run` began nothing, if a budget refused it."""
    if not outcome.startswith("{"):
        return None
    budget = orjson.loads(outcome)
    return ModelUnpriced(model, budget) if budget["unpriced"] else BudgetExhausted(budget)


def used(model: str, price: Price | None, usage: Usage) -> dict[str, Any]:
    """What a turn used, as `settle_turn` takes it; `known` is False when the provider did not say."""
    fresh, _, output = (None, None, None) if price is None else price.rates(usage.input_tokens)
    return {
        "model": model,
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cached": usage.cached_tokens,
        "cost": None if price is None else _plain(price.cost(usage)),
        "input_rate": None if fresh is None else _plain(fresh),
        "output_rate": None if output is None else _plain(output),
        "price": "" if price is None else price.name,
        "known": usage.input_tokens > 0 or usage.output_tokens > 0,
    }


def _plain(amount: Any) -> str:
    return f"{amount:f}"


def _pauses() -> Any:
    yield from _PAUSES
    while True:
        yield _PAUSES[-1]
