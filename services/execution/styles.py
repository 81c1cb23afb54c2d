"""Lists and objects as text: in a query, a form, a path or a header, in the styles that OpenAPI names.

style      a list                     an object
(none)     each with the same name    JSON            in a form, both are JSON
repeat     each with the same name    JSON
comma      a,b                        name,value,…    space and pipe are other separators
deep       name[0]=a&name[1]=b        name[field]=…   also within each other
fields     each with the same name    field=…
json       JSON                       JSON
"""

import json
from collections.abc import Iterator
from typing import Any

STYLES = ("", "repeat", "comma", "space", "pipe", "deep", "fields", "json")
_SEPARATORS = {"comma": ",", "space": " ", "pipe": "|"}


def text_of(value: Any) -> str:
    """A value in a query, a path, a header or a form."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def joined(value: Any, style: str) -> str:
    """A value as one text."""
    return _SEPARATORS[style].join(parts(value)) if style in _SEPARATORS else text_of(value)


def parts(value: Any) -> list[str]:
    """What a separator is put between: the members of a list, names and values of an object, any other value itself."""
    if isinstance(value, dict):
        return [each for name, member in value.items() for each in (name, text_of(member))]
    return [text_of(each) for each in value] if isinstance(value, list) else [text_of(value)]


def pairs(called: str, value: Any, style: str) -> list[tuple[str, str]]:
    """A value as fields of a query, or of a form."""
    if style == "deep":
        return list(_deep(called, value))
    if style == "fields" and isinstance(value, dict):
        return [(name, text_of(member)) for name, member in value.items() if member is not None]
    if isinstance(value, list) and style in ("", "repeat", "fields"):
        return [(called, text_of(each)) for each in value]
    return [(called, joined(value, style))]


def _deep(called: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for name, member in members:
            yield from _deep(f"{called}[{name}]", member)
    elif value is not None:
        yield called, text_of(value)
