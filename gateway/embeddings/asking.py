"""Asking for vectors in a member's name: by the same rules as a chat's model, and within the same budgets.

The operator names the model; whose provider that is, whether the tenant may use it, and what stops it is decided as for
any other model, each time. Nothing is sent before that, nor before the budgets are charged.
"""

import math
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from gateway.budgets import embeddings as budget
from gateway.budgets import prices
from gateway.budgets.errors import BudgetRefusal
from gateway.embeddings.errors import EmbeddingFailed, EmbeddingRefused
from gateway.providers.errors import ProviderError, ProviderMisconfigured, ProviderRefused
from gateway.providers.interface import Embedded, Embeds
from gateway.providers.registry import UnknownModel
from gateway.providers.routing import resolution
from gateway.providers.routing.errors import ModelNotAllowed
from gateway.providers.routing.resolution import ResolvedModel
from gateway.runs import loop
from tenants.scope.transactions import TenantScope, transaction
from tenants.switches.on import Subject, Switch, killed

MOST_DIMENSIONS = 4096
_SMALLEST = 1e-30
# What is asked for in place of a text without a character that shows: providers refuse an empty one.
_BLANK = "-"
_MEMBER = "SELECT user_id FROM memberships WHERE tenant_id = %s AND user_id = %s"
_SWITCHES = "SELECT switches_on() AS switches"


@dataclass(frozen=True, slots=True)
class Model:
    """Who makes vectors for a tenant; `source` is what their vectors are stored under: those of a tenant's own provider
    are no other's, though it has the same name."""

    resolved: ResolvedModel
    source: str


async def model_for(scope: TenantScope) -> Model:
    """Who makes vectors for this member now. Raises EmbeddingRefused."""
    async with transaction(scope) as connection:
        routing = await resolution.read(connection, scope)
        row = await (await connection.execute(_SWITCHES)).fetchone()
        member = await (await connection.execute(_MEMBER, [*scope])).fetchone()
    if member is None:
        raise EmbeddingRefused("the author is no member any more")
    try:
        found = routing.resolve(settings.TOOLGATE_EMBEDDINGS, loop.providers())
    except (UnknownModel, ModelNotAllowed) as refusal:
        raise EmbeddingRefused(str(refusal)) from None
    switches = [Switch.of(each) for each in (row and row["switches"]) or ()]
    if killed(switches, Subject(scope.user_id, "", found.name)) is not None:
        raise EmbeddingRefused(f"a kill switch stops {found.name}")
    return Model(found, f"{found.name} of the tenant" if found.own else found.name)


async def vectors(scope: TenantScope, model: Model, texts: list[str]) -> list[list[float]]:
    """The vectors of texts, each of length 1, in their order; asked for once. Raises EmbeddingRefused."""
    resolved, texts = model.resolved, [text.strip() or _BLANK for text in texts]
    try:
        adapter = resolved.adapter
        if not isinstance(adapter, Embeds):
            raise EmbeddingRefused(f"the provider {resolved.slug} makes no vectors")
        if resolved.kind == "demo":
            return unit(await adapter.embed(resolved.model, texts), len(texts))
        price = prices.of(resolved.kind, resolved.model, resolved.price)
        charge = await budget.charge(scope, resolved.name, price, texts)
        try:
            embedded = await adapter.embed(resolved.model, texts)
        except ProviderError as error:
            # No provider asks money for an HTTP status instead of an answer, or without a connection.
            if error.status is not None or not error.sent:
                await charge.settle(0)
            raise
        if embedded.input_tokens:
            await charge.settle(embedded.input_tokens)
        return unit(embedded, len(texts))
    except BudgetRefusal as refusal:
        raise EmbeddingRefused(refusal.detail) from None
    except ProviderError as error:
        of_text = isinstance(error, ProviderRefused) and not isinstance(error, ProviderMisconfigured)
        raise EmbeddingFailed(error.message, of_text=of_text) from None


def unit(embedded: Embedded, count: int) -> list[list[float]]:
    """The vectors, each divided by its length. Raises EmbeddingFailed for anything but `count` lists of as many numbers
    as each other."""
    found = [_unit(each) for each in embedded.vectors]
    if len(found) != count or len({len(each) for each in found}) > 1:
        raise EmbeddingFailed("The provider's answer has other vectors than were asked for.")
    return found


def _unit(given: Any) -> list[float]:
    numbers: list[Any] = given if isinstance(given, list) and 0 < len(given) <= MOST_DIMENSIONS else [None]
    if all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers):
        length = math.hypot(*numbers)
        if math.isfinite(length):
            # A text without a word may have no direction: it is like nothing. PostgreSQL's real has no smaller numbers.
            parts = [number / length if length else 0.0 for number in numbers]
            return [part if abs(part) > _SMALLEST else 0.0 for part in parts]
    raise EmbeddingFailed("A vector of the provider's answer cannot be read.")
