"""What owners say of their tenant's models, and the operator of everybody's: which are allowed, fallbacks, prices.

Each in the transaction of the caller; `tenant_id` None is the operator, on whose login it runs.
"""

import uuid
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from gateway.providers import patterns
from gateway.providers.routing import prices
from gateway.providers.routing.errors import ChangedMeanwhile, InvalidModels
from gateway.providers.routing.models import ModelSettings
from gateway.providers.routing.resolution import MOST_FALLBACKS
from gateway.providers.routing.settings import recorded
from tenants.people import changes

FIELDS = ("allowed", "fallbacks", "prices")
MOST = 200
_PATTERN = (
    f"must be 1 to {patterns.MOST_CHARACTERS} printable ASCII characters without spaces, either * alone or a name such "
    "as openai/gpt-4o, in which * stands for any characters"
)


def found(tenant_id: uuid.UUID | None, *, lock: bool = False) -> ModelSettings:
    """What is said now; a row that is not saved, of version 0, where nothing is."""
    rows = ModelSettings.objects.select_for_update() if lock else ModelSettings.objects.all()
    return rows.filter(Q(tenant_id=tenant_id)).first() or ModelSettings(tenant_id=tenant_id, version=0)


def change(tenant_id: uuid.UUID | None, given: dict[str, Any], *, whole: bool = False) -> ModelSettings:
    """Change the fields that are given, and with `whole` empty the others. With a `version` among them, only what had
    that version when it was read. Raises InvalidModels and ChangedMeanwhile."""
    for name in given:
        if name not in (*FIELDS, "version"):
            raise InvalidModels(f"{name:.80} is not known here; there are {', '.join(FIELDS)}.", name[:80])
    values = checked({name: given.get(name) for name in FIELDS if whole or name in given})
    # Two that are the first to say something must not both find nothing.
    if found(tenant_id, lock=True)._state.adding:
        ModelSettings.objects.bulk_create([ModelSettings(tenant_id=tenant_id, version=0)], ignore_conflicts=True)
    row = found(tenant_id, lock=True)
    if given.get("version") not in (None, row.version):
        raise ChangedMeanwhile(row.version)
    before = recorded.said(row)
    for name, value in values.items():
        setattr(row, name, value)
    row.version += 1
    row.updated_at = Now()
    row.save()
    row = found(tenant_id)
    if before is not None:
        changes.record(before, recorded.said(row))
    return row


def checked(given: dict[str, Any]) -> dict[str, Any]:
    """The fields as they are stored. Raises InvalidModels."""
    read = {"allowed": _allowed, "fallbacks": _fallbacks, "prices": _prices}
    return {name: read[name](value) for name, value in given.items()}


def shown(row: ModelSettings) -> dict[str, Any]:
    """What is said, as the API shows it."""
    return {"allowed": row.allowed, "fallbacks": row.fallbacks, "prices": row.prices, "version": row.version}


def _allowed(given: Any) -> list[str] | None:
    if given is None:
        return None
    if not isinstance(given, list) or len(given) > MOST:
        raise InvalidModels(f"allowed must be null (every model) or a list of up to {MOST} patterns.", "allowed")
    return list(dict.fromkeys(_pattern(each, f"allowed[{at}]") for at, each in enumerate(given)))


def _fallbacks(given: Any) -> dict[str, list[str]]:
    given = {} if given is None else given
    if not isinstance(given, dict) or len(given) > MOST:
        raise InvalidModels(f"fallbacks must be an object of up to {MOST} patterns with lists of models.", "fallbacks")
    return {_pattern(name, f"fallbacks.{str(name)[:80]}"): _models(name, given[name]) for name in given}


def _models(pattern: str, given: Any) -> list[str]:
    at = f"fallbacks.{pattern[:80]}"
    if not isinstance(given, list) or not 0 < len(given) <= MOST_FALLBACKS:
        raise InvalidModels(f"{at} must be a list of 1 to {MOST_FALLBACKS} models, in the order they are asked.", at)
    for each in given:
        if not isinstance(each, str) or "*" in each or not _is_name(each):
            raise InvalidModels(f"{at} must have names of models such as openai/gpt-4o, without *.", at)
    return list(dict.fromkeys(given))


def _prices(given: Any) -> list[dict[str, Any]]:
    given = [] if given is None else given
    if not isinstance(given, list) or len(given) > MOST:
        raise InvalidModels(f"prices must be a list of up to {MOST} objects.", "prices")
    found: dict[str, dict[str, Any]] = {}
    for at, each in enumerate(given):
        place = f"prices[{at}]"
        if not isinstance(each, dict) or not {"model", "input", "output"} <= each.keys() <= _OF_PRICE:
            raise InvalidModels(f"{place} must have model, input and output, and may have cached.", place)
        pattern = _pattern(each["model"], f"{place}.model")
        if pattern in found:
            raise InvalidModels(f"{place}.model was there before.", f"{place}.model")
        found[pattern] = {"model": pattern} | {
            name: _amount(each.get(name), f"{place}.{name}") for name in ("input", "output")
        }
        cached = each.get("cached")
        found[pattern]["cached"] = None if cached is None else _amount(cached, f"{place}.cached")
    return list(found.values())


_OF_PRICE = frozenset({"model", "input", "output", "cached"})


def _amount(given: Any, at: str) -> str:
    amount = prices.amount(given)
    if amount is None:
        raise InvalidModels(
            f"{at} must be US dollars per million tokens: from 0 to 999999.999999, with up to six places.", at
        )
    return amount


def _pattern(given: Any, at: str) -> str:
    if isinstance(given, str) and (given == "*" or _is_name(given)):
        return given
    raise InvalidModels(f"{at} {_PATTERN}.", at)


def _is_name(text: str) -> bool:
    slug, slash, model = text.partition("/")
    return len(text) <= patterns.MOST_CHARACTERS and patterns.is_plain(text) and bool(slug and slash and model)
