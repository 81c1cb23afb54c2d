"""Schemas of common keywords alone, told to be valid a hundred times sooner than by JSON Schema's own schema.

A yes is what the meta-schema of Draft 2020-12 would say too; a no says only that it has to be asked.
"""

from collections.abc import Callable
from typing import Any

_TYPES = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})


def is_plain(schema: Any) -> bool:
    """Whether the schema is valid, and uses no keyword that is not common; raises RecursionError for one too deep."""
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict):
        return False
    return all(name in _KEYWORDS and _KEYWORDS[name](value) for name, value in schema.items())


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _anything(value: Any) -> bool:
    return True


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value) and len(set(value)) == len(value)


def _types(value: Any) -> bool:
    if isinstance(value, str):
        return value in _TYPES
    return _names(value) and bool(value) and _TYPES.issuperset(value)


def _schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(is_plain(each) for each in value)


def _named(value: Any) -> bool:
    return isinstance(value, dict) and all(is_plain(each) for each in value.values())


_KEYWORDS: dict[str, Callable[[Any], bool]] = {
    "type": _types,
    "properties": _named,
    "required": _names,
    "additionalProperties": is_plain,
    "items": is_plain,
    "enum": _list,
    "const": _anything,
    "default": _anything,
    "examples": _list,
    "title": _text,
    "description": _text,
    "pattern": _text,
    "format": _text,
    "deprecated": _boolean,
    "readOnly": _boolean,
    "writeOnly": _boolean,
    "uniqueItems": _boolean,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count
    ),
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), _schemas),
    "not": is_plain,
}  # fmt: skip
