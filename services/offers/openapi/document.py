"""An OpenAPI document: the operations that an owner chose, each as a tool."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from services.errors import InvalidService
from services.offers import definition, references
from services.offers.definition import Effort
from services.offers.descriptor import Offer
from services.offers.openapi import operation
from services.offers.openapi.operation import Operation

AT = "openapi"
METHODS = ("get", "put", "post", "delete", "patch", "head")
# Far more than the largest API has.
MAX_OPERATIONS = 20_000
# How many are named where an owner chose one that there is not.
_NAMED = 10
_VERSION = re.compile(r"3\.[012]\.\d{1,3}")
_CHOSEN = re.compile(r"([A-Za-z]+) +(/\S*)")


def read(slug: str, document: Any, chosen: list[str]) -> Offer:
    """The offer of the chosen operations, named by operationId or as "GET /path"; raises InvalidService."""
    if not isinstance(document, dict) or not _VERSION.fullmatch(str(document.get("openapi", ""))):
        raise InvalidService(f"{AT} must be an OpenAPI document of version 3.0, 3.1 or 3.2.", AT)
    if not chosen:
        raise InvalidService(
            f"operations must name which become tools: {_some(document)}.",
            "operations",
        )
    if len(chosen) > definition.MAX_TOOLS or len(set(chosen)) < len(chosen):
        raise InvalidService(f"operations must be up to {definition.MAX_TOOLS:,}, each of them once.", "operations")
    by_name: dict[str, list[Operation]] = {}
    for each in _operations(document):
        for name in {each.id, each.title} - {""}:
            by_name.setdefault(name, []).append(each)
    effort = Effort()
    tools = [operation.tool(slug, document, _one(by_name, name, document), effort) for name in chosen]
    info = document.get("info")
    described = info.get("title") if isinstance(info, dict) else None
    words = described if isinstance(described, str) else None
    return Offer(definition.check_words(words, f"{AT}.info.title", definition.MAX_DESCRIPTION), tools)


@dataclass(frozen=True, slots=True)
class Choice:
    """An operation that can be chosen: `name` is what chooses it, `title` its method and path."""

    name: str
    title: str
    summary: str


def choices(document: Any) -> list[Choice]:
    """The operations of a document, in its order; raises InvalidService for what is no document."""
    if not isinstance(document, dict) or not _VERSION.fullmatch(str(document.get("openapi", ""))):
        raise InvalidService(f"{AT} must be an OpenAPI document of version 3.0, 3.1 or 3.2.", AT)
    found = list(_operations(document))
    times = Counter(each.id for each in found)
    return [
        Choice(each.id if each.id and times[each.id] == 1 else each.title, each.title, each.summary) for each in found
    ]


def _operations(document: dict[str, Any]) -> Iterator[Operation]:
    paths = document.get("paths")
    if not isinstance(paths, dict):
        raise InvalidService(f"{AT}.paths must be an object.", f"{AT}.paths")
    left = MAX_OPERATIONS
    for path, item in paths.items():
        if isinstance(item, dict) and "$ref" in item:
            # 3.1 has paths among its components; what else stands beside the reference counts first.
            item = _named(document, item["$ref"]) | item
        if not isinstance(item, dict):
            continue
        for method in METHODS:
            if isinstance(given := item.get(method), dict):
                left -= 1
                if left < 0:
                    raise InvalidService(f"{AT} has more than {MAX_OPERATIONS:,} operations.", f"{AT}.paths")
                yield Operation(method.upper(), path, given, item.get("parameters"), item.get("servers"))


def _named(document: dict[str, Any], pointer: Any) -> dict[str, Any]:
    """The path that a reference names; without operations where it names none here."""
    try:
        found = references.named(document, pointer, AT)
    except InvalidService:
        return {}
    return found if isinstance(found, dict) else {}


def _one(by_name: dict[str, list[Operation]], name: str, document: dict[str, Any]) -> Operation:
    written = _CHOSEN.fullmatch(name.strip())
    found = by_name.get(f"{written.group(1).upper()} {written.group(2)}" if written else name, [])
    if not found:
        raise InvalidService(f"There is no operation {name:.200}. There are {_some(document)}.", "operations")
    if len(found) > 1:
        titles = " and ".join(each.title for each in found[:2])
        raise InvalidService(f"{name:.200} is the operationId of {titles}. Choose by method and path.", "operations")
    return found[0]


def _some(document: dict[str, Any]) -> str:
    names = [each.id or each.title for each in _operations(document)]
    more = f", and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return (", ".join(name[:100] for name in names[:_NAMED]) or "none") + more
