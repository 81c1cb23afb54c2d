"""Arguments that are sent as headers too: properties that a tool's schema marks with `x-mcp-header`."""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

MARK = "x-mcp-header"
_PREFIX = "Mcp-Param-"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?|")
_ENCODED = re.compile(r"=\?base64\?.*\?=")
# Keywords whose values are schemas, lists of schemas, and schemas by name.
_ONE = ("items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "unevaluatedProperties",
        "not", "if", "then", "else", "contentSchema")  # fmt: skip
_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("patternProperties", "dependentSchemas", "$defs", "definitions")

# [["path", "to", "property"], "Name-Of-The-Header"] of each marked property.
Marked = list[list[Any]]


class InvalidMark(ValueError):
    """A mark is where none can be, or names no header."""


def encoded(value: str) -> str:
    """A text as a header's value, in base64 where it would not arrive as it is."""
    if _PLAIN.fullmatch(value) and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def marked(schema: Mapping[str, Any]) -> Marked:
    """The properties of a schema that are sent as headers too; raises InvalidMark."""
    found: Marked = []
    for path, each in _positions(schema):
        if MARK not in each:
            continue
        name = each[MARK]
        if not path:
            raise InvalidMark(f"{MARK} is at a place that is no property of the arguments")
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise InvalidMark(f"{MARK} of {'.'.join(path):.80} is no name of a header")
        if each.get("type") not in ("string", "integer", "boolean"):
            raise InvalidMark(f"{MARK} of {'.'.join(path):.80} needs the type string, integer or boolean")
        if name.lower() in {other.lower() for _, other in found}:
            raise InvalidMark(f"{MARK} {name} is there twice")
        found.append([list(path), name])
    return found


def of_arguments(found: Marked, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers of a call; an argument that is not given, or null, has none."""
    headers = {}
    for path, name in found:
        value: Any = arguments
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, bool):
            headers[_PREFIX + name] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            headers[_PREFIX + name] = encoded(str(value))
    return headers


def _positions(schema: Any) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Every schema below this one, with its path of properties; None where it has none."""
    waiting: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    while waiting:
        path, each = waiting.pop()
        if not isinstance(each, dict):
            continue
        yield path, each
        for keyword, value in each.items():
            if keyword == "properties" and isinstance(value, dict):
                waiting += [(None if path is None else (*path, name), inner) for name, inner in value.items()]
            elif keyword in _ONE:
                waiting.append((None, value))
            elif keyword in _LIST and isinstance(value, list):
                waiting += [(None, inner) for inner in value]
            elif keyword in _NAMED and isinstance(value, dict):
                waiting += [(None, inner) for inner in value.values()]
