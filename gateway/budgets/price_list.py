"""Makes `prices.json` out of the installed package genai-prices: `make prices`, whenever its version changes.

The package itself takes 100 MB and most of a second of every process that imports it; the list of the providers that
Toolgate has adapters for takes neither. A test holds the file to the package.
"""

import json
import sys
from decimal import Decimal
from typing import Any

# Kinds of providers, and what the package calls them.
KINDS = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
_RATES = {"input": "input_mtok", "output": "output_mtok", "cached": "cache_read_mtok", "written": "cache_write_mtok"}


def made() -> dict[str, Any]:
    """The list: {"version", "kinds": {kind: [{"match", "prices": [{"since", "input", "output", …}]}]}}.

    A rate is [[from how many tokens of input, US dollars per million tokens], …]; the last price that has begun holds.
    """
    import genai_prices
    from genai_prices import data

    providers = {provider.id: provider for provider in data.providers}
    kinds = {kind: [*filter(None, map(_model, providers[of].models))] for kind, of in KINDS.items()}
    return {"version": f"genai-prices {genai_prices.__version__}", "kinds": kinds}


def _model(model: Any) -> dict[str, Any] | None:
    listed = model.prices if isinstance(model.prices, list) else [model.prices]
    prices = []
    for each in listed:
        constraint = getattr(each, "constraint", None)
        since = getattr(constraint, "start_date", None)
        if constraint is not None and since is None:
            # A price of certain hours: nobody can say it beforehand.
            return None
        price = each.prices if hasattr(each, "constraint") else each
        rates = {name: _rate(getattr(price, of)) for name, of in _RATES.items()}
        if rates["output"] is None and "embedding" in model.id:
            # It answers with no tokens.
            rates["output"] = [[0, "0"]]
        if rates["input"] is None or rates["output"] is None:
            return None
        prices.append({"since": since and since.isoformat(), **{name: rate for name, rate in rates.items() if rate}})
    return {"match": _match(model.match), "prices": prices}


def _rate(price: Any) -> list[list[Any]] | None:
    if price is None:
        return None
    if isinstance(price, Decimal):
        return [[0, str(price)]]
    return [[0, str(price.base)], *([tier.start, str(tier.price)] for tier in price.tiers)]


def _match(clause: Any) -> list[Any]:
    [(name, value)] = vars(clause).items()
    name = name.rstrip("_")
    return [name, *map(_match, value)] if isinstance(value, list) else [name, value]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(made(), indent=1) + "\n")
