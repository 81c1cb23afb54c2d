"""Closed schemas: what fits one cannot carry words that its author did not write.

Only what is proved is closed: enumerations of short values, booleans, null and numbers, in objects and lists whose size
is bounded. Anything else is open, references, alternatives and patterns too. What a closed answer still can carry is
the choice among what its author wrote, and the bits of its numbers, of which there are at most MOST_VALUES.
"""

from typing import Any

# Values in an answer, choices of one value, characters of a choice, and levels.
MOST_VALUES, MOST_CHOICES, LONGEST_CHOICE, MOST_LEVELS = 100, 100, 200, 8

_WORDS = frozenset({"title", "description"})
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_MORE = {
    "boolean": frozenset[str](),
    "null": frozenset[str](),
    "integer": _NUMBERS,
    "number": _NUMBERS,
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems", "uniqueItems"}),
}


class _Open(Exception):
    """The schema is not closed; the message says where and why."""


def why_open(schema: Any) -> str | None:
    """Why what fits a schema may hold words of somebody else; None when it cannot, so that the schema is closed.

    The schema is a sound one (`schema.declare_condition`).
    """
    try:
        values = _values(schema, "it", 0)
    except _Open as opened:
        return str(opened)
    return None if values <= MOST_VALUES else f"it allows more than {MOST_VALUES} values"


def _values(schema: Any, at: str, level: int) -> int:
    """How many values fit the schema at the most. Raises _Open."""
    if not isinstance(schema, dict):
        raise _Open(f"{at} is no object")
    if level > MOST_LEVELS:
        raise _Open(f"it has more than {MOST_LEVELS} levels")
    if "enum" in schema or "const" in schema:
        return _choice(schema, at)
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) and kinds else [kinds]:
        if kind not in _MORE or (isinstance(kinds, list) and kind in ("object", "array")):
            raise _Open(f"{at} is of type {kind}" if kind else f"{at} has no type")
    if unknown := set(schema) - _WORDS - {"type"} - set[str]().union(*(_MORE[kind] for kind in _listed(kinds))):
        raise _Open(f"{at} uses {min(unknown)}")
    if kinds == "object":
        return _of_object(schema, at, level)
    return _of_list(schema, at, level) if kinds == "array" else 1


def _listed(kinds: Any) -> list[str]:
    return kinds if isinstance(kinds, list) else [kinds]


def _choice(schema: dict[str, Any], at: str) -> int:
    if unknown := set(schema) - _WORDS - {"type", "enum", "const"}:
        raise _Open(f"{at} uses {min(unknown)} beside its values")
    choices = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]
    if len(choices) > MOST_CHOICES:
        raise _Open(f"{at} has more than {MOST_CHOICES} values to choose from")
    for choice in choices:
        if isinstance(choice, list | dict):
            raise _Open(f"{at} has lists or objects to choose from")
        if isinstance(choice, str) and len(choice) > LONGEST_CHOICE:
            raise _Open(f"{at} has a value of more than {LONGEST_CHOICE} characters")
    return 1


def _of_object(schema: dict[str, Any], at: str, level: int) -> int:
    if schema.get("additionalProperties") is not False:
        raise _Open(f'{at} does not say "additionalProperties": false')
    properties = schema.get("properties", {})
    # An empty one is a value, too.
    return max(1, sum(_values(each, f"{at}.{name[:50]}", level + 1) for name, each in properties.items()))


def _of_list(schema: dict[str, Any], at: str, level: int) -> int:
    most = schema.get("maxItems")
    if not isinstance(most, int):
        raise _Open(f"{at} has no maxItems")
    return max(1, most * _values(schema.get("items"), f"{at}[]", level + 1))
