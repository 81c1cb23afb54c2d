"""Prices: the list is the package's, and costs are exact."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from gateway.budgets import price_list, prices
from gateway.providers.interface import Usage

LIST = Path(prices.__file__).with_name("prices.json")


def test_the_list_is_what_the_installed_package_says() -> None:
    assert json.loads(LIST.read_text()) == json.loads(json.dumps(price_list.made()))


def test_a_listed_model_costs_what_the_package_works_out() -> None:
    import genai_prices

    now = datetime.now(UTC)
    for kind, model in [("openai", "gpt-4o-mini"), ("openai", "GPT-4.1"), ("anthropic", "claude-3-haiku-20240307")]:
        price = prices.of(kind, model, now=now)
        assert price is not None
        usage = Usage(1234, 567, cached_tokens=89)
        theirs = genai_prices.calc_price(
            genai_prices.Usage(input_tokens=1234, output_tokens=567, cache_read_tokens=89),
            model_ref=model,
            provider_id=price_list.KINDS[kind],
            genai_request_timestamp=now,
        )
        assert price.cost(usage) == theirs.total_price, model
        assert price.name.startswith("genai-prices ")


def test_a_price_that_grows_with_the_input_is_the_one_of_this_input_and_its_highest_is_reserved() -> None:
    price = prices.of("gemini", "gemini-2.5-pro")
    assert price is not None
    assert [len(price.input), len(price.output)] == [2, 2]
    [(_, low), (start, high)] = price.input
    assert price.rates(start)[0] == low
    assert price.rates(start + 1)[0] == high
    assert price.highest == (high, price.output[1][1])


@pytest.mark.parametrize(("kind", "model"), [("openai", "no-such-model"), ("openai-compatible", "gpt-4o"), ("", "")])
def test_nobody_knows_the_price_of_a_model_that_is_not_listed(kind: str, model: str) -> None:
    assert prices.of(kind, model) is None


@dataclass(frozen=True)
class Own:
    input: Decimal = Decimal("2.50")
    output: Decimal = Decimal("10")
    cached: Decimal | None = None
    source: str = "tenant"
    version: int = 4


def test_an_own_price_beats_the_list_and_names_itself() -> None:
    price = prices.of("openai", "gpt-4o-mini", Own())
    assert price is not None
    assert (price.name, price.highest) == ("tenant 4", (Decimal("2.50"), Decimal("10")))
    # What is cached costs as much as the input where no price of it is set.
    assert price.cost(Usage(1_000_000, 1_000_000, cached_tokens=500_000)) == Decimal("12.50")


def test_the_demo_model_is_free() -> None:
    price = prices.of("demo", "demo")
    assert price is not None
    assert price.cost(Usage(10, 10)) == 0
