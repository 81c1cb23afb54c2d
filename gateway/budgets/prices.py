"""What a model costs: the tenant's or the operator's own price, else the one of the package genai-prices.

Nothing is asked of a network: `price_list` says where prices.json comes from. US dollars per million tokens, exact.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import orjson

from gateway.providers.interface import Usage

_LIST = Path(__file__).with_name("prices.json")
_MILLIONTH = Decimal("0.000001")
# A rate by how many tokens the input has: from which number on, and how much. It holds for all tokens of the request.
Rate = tuple[tuple[int, Decimal], ...]


class OwnPrice(Protocol):
    """A price that a tenant or the operator has set; `cached` None is as input."""

    @property
    def input(self) -> Decimal: ...
    @property
    def output(self) -> Decimal: ...
    @property
    def cached(self) -> Decimal | None: ...
    @property
    def source(self) -> str: ...
    @property
    def version(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Price:
    """The rates of a model; `name` says whose they are, such as "genai-prices 0.2.3" or "tenant 4"."""

    input: Rate
    output: Rate
    cached: Rate
    written: Rate
    name: str

    @property
    def highest(self) -> tuple[Decimal, Decimal]:
        """The most that a token of the input and one of the output can cost, per million."""
        return max(rate for _, rate in (*self.input, *self.cached, *self.written)), max(rate for _, rate in self.output)

    def most(self, input_tokens: int, output_tokens: int) -> Decimal:
        """The most US dollars that so many tokens can cost."""
        input_rate, output_rate = self.highest
        return (input_rate * input_tokens + output_rate * output_tokens) * _MILLIONTH

    def rates(self, input_tokens: int) -> tuple[Decimal, Decimal, Decimal]:
        """Of the input, what of it was cached, and the output, for an input of so many tokens."""
        return _at(self.input, input_tokens), _at(self.cached, input_tokens), _at(self.output, input_tokens)

    def cost(self, usage: Usage) -> Decimal:
        """Exact US dollars."""
        fresh, cached, output = self.rates(usage.input_tokens)
        read = min(usage.cached_tokens, usage.input_tokens)
        parts = fresh * (usage.input_tokens - read), cached * read, output * usage.output_tokens
        return sum(parts, Decimal(0)) * _MILLIONTH


_NOTHING: Rate = ((0, Decimal(0)),)
FREE = Price(_NOTHING, _NOTHING, _NOTHING, _NOTHING, "free")


def of(kind: str, model: str, own: OwnPrice | None = None, now: datetime | None = None) -> Price | None:
    """The price of a provider's model, by the provider's own name of it; None when nobody knows one.

    `kind` is the provider's: openai, anthropic, gemini, openai-compatible or demo, which is free.
    """
    if own is not None:
        cached = own.input if own.cached is None else own.cached
        name = f"{own.source} {own.version}"
        return Price(((0, own.input),), ((0, own.output),), ((0, cached),), ((0, own.input),), name)
    if kind == "demo":
        return FREE
    dated = _dated(kind, model.lower())
    if not dated:
        return None
    if dated[-1][0] is None:
        return dated[-1][1]
    today = (now or datetime.now(UTC)).date().isoformat()
    return next((price for since, price in reversed(dated) if since is None or since <= today), None)


@functools.lru_cache(maxsize=4096)
def _dated(kind: str, model: str) -> tuple[tuple[str | None, Price], ...]:
    """A model's prices, each with the day that it begins, in order."""
    listed = _listed()
    for matches, prices in listed["kinds"].get(kind, ()):
        if matches(model):
            return tuple((each["since"], _price(each, listed["version"])) for each in prices)
    return ()


@functools.cache
def _listed() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(_LIST.read_bytes())
    kinds = {kind: [(_matching(m["match"]), m["prices"]) for m in models] for kind, models in found["kinds"].items()}
    return {"version": found["version"], "kinds": kinds}


_MATCHES: dict[str, Callable[[str, str], bool]] = {
    "equals": lambda text, said: text == said.lower(),
    "starts_with": lambda text, said: text.startswith(said.lower()),
    "ends_with": lambda text, said: text.endswith(said.lower()),
    "contains": lambda text, said: said.lower() in text,
    "regex": lambda text, said: re.search(said, text) is not None,
}


def _matching(clause: list[Any]) -> Callable[[str], bool]:
    name, *said = clause
    if name in ("or", "and"):
        parts = [_matching(each) for each in said]
        some = any if name == "or" else all
        return lambda text: some(part(text) for part in parts)
    return lambda text: _MATCHES[name](text, said[0])


def _price(listed: dict[str, Any], name: str) -> Price:
    def rate(of: str) -> Rate:
        return tuple((start, Decimal(price)) for start, price in listed.get(of) or listed["input"])

    return Price(rate("input"), rate("output"), rate("cached"), rate("written"), name)


def _at(rate: Rate, input_tokens: int) -> Decimal:
    return next(price for start, price in reversed(rate) if not start or input_tokens > start)
