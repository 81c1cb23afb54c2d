"""Where a call reaches, and whether the user has named that in their own words.

A destination stands in a text where it stands there whole: `bob@example.com` is not in `bob@example.com.evil.org`, and
`example.com` is neither in `my-example.com` nor in `example.com.evil.org`. Case does not matter.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from tools.interface import Tool

# A shorter one would stand in any text.
LEAST_CHARACTERS = 3
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://)(?:[^/?#\s]*@)?([^/?#:\s]+)", re.IGNORECASE)
_BARE_HOST = re.compile(r"([a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,})(?::\d+)?(?:[/?#]|$)", re.IGNORECASE)
# What goes on with a name, an address or a host before and after it.
_BEFORE, _AFTER = r"(?<![\w.@%+~=&-])", r"(?![\w@%+~=&-])(?!\.\w)"


def destinations_of(tool: Tool, arguments: Any) -> tuple[str, ...]:
    """The destinations of a call, of a URL its host; empty where the tool names none, or they cannot be told."""
    if not isinstance(arguments, Mapping):
        return ()
    found: list[str] = []
    for name in tool.destinations:
        value = arguments.get(name)
        for each in value if isinstance(value, list) else [value]:
            if each is None:
                continue
            if not isinstance(each, str) or len(destination := _essence(each)) < LEAST_CHARACTERS:
                return ()
            found.append(destination)
    return tuple(dict.fromkeys(found))


def all_stand_in(destinations: Iterable[str], texts: Iterable[str]) -> bool:
    """Whether each destination stands in one of the texts."""
    normal = [_normal(text) for text in texts]
    patterns = [re.compile(f"{_BEFORE}{re.escape(_normal(each))}{_AFTER}") for each in destinations]
    return all(any(pattern.search(text) for text in normal) for pattern in patterns)


def _essence(value: str) -> str:
    value = value.strip()
    host = _URL.match(value) or _BARE_HOST.match(value)
    return host[1] if host else value


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
