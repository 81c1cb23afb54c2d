"""Which models a tenant may use, as far as they are known without asking a provider."""

from decimal import Decimal
from typing import Any

from gateway.providers import known_models
from gateway.providers.registry import Providers, UnknownModel
from gateway.providers.routing.errors import ModelNotAllowed
from gateway.providers.routing.resolution import Routing
from gateway.providers.routing.rows import NamedProvider


def models(routing: Routing, environment: Providers) -> list[str]:
    """The names of models that members may use, the operator's default one first.

    Known are those that a provider's row lists, else those that are known of its vendor. No provider is asked, but SDKs
    may be imported: call it off the event loop.
    """
    hidden = routing.providers.keys()
    found = [(name, False) for name in environment.models() if _slug(name) not in hidden]
    if routing.offered is not None:
        found = [(name, own) for name, own in found if _slug(name) in routing.offered]
    for provider in routing.providers.values():
        if provider.enabled:
            found += [(f"{provider.slug}/{model}", provider.own) for model in known(provider)]
    return [name for name, own in dict.fromkeys(found) if routing.is_allowed(name, own)]


def known(provider: NamedProvider) -> tuple[str, ...]:
    """The models of a named provider: those that its row lists, else those that are known of its vendor."""
    if provider.listed is not None:
        return provider.listed
    return () if provider.base_url else known_models.of(provider.kind)


def is_usable(routing: Routing, environment: Providers, model: str) -> bool:
    """Whether members may use the model, "" being the operator's default."""
    try:
        routing.resolve(model, environment)
    except (UnknownModel, ModelNotAllowed):
        return False
    return True


def _slug(name: str) -> str:
    return name.partition("/")[0]


def offered(routing: Routing, environment: Providers) -> dict[str, Any]:
    """For owners: the known models that members may use as `available`, and what the operator says as `operator`."""
    of_operator = {*environment.names(), *(each.slug for each in routing.providers.values() if not each.own)}
    if routing.offered is not None:
        of_operator &= routing.offered
    own = {each.slug for each in routing.providers.values() if each.own}
    prices = [
        {"model": pattern, "input": _text(price.input), "output": _text(price.output), "cached": _text(price.cached)}
        for pattern, price in routing.operator.prices.items()
    ]
    allowed = routing.operator.allowed
    return {
        "available": models(routing, environment),
        "operator": {
            "providers": sorted(of_operator - own),
            "allowed": None if allowed is None else list(allowed),
            "prices": prices,
        },
    }


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")
