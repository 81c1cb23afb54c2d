"""Names of models, "provider/model", and patterns of them: `*` is any run of characters, everything else is itself.

Names are compared as they are sent to the provider, character by character. Another spelling of an allowed model, in
other letters, with a prefix or a date, is another name: it is allowed when a pattern says so, and not otherwise.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

Found = TypeVar("Found")

MOST_CHARACTERS = 240


def matches(pattern: str, name: str) -> bool:
    """Whether the whole name is as the pattern says; takes time in proportion to both."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == name
    *middle, last = others
    if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
        return False
    at, end = len(first), len(name) - len(last)
    for part in middle:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def any_matches(allowed: Iterable[str], name: str) -> bool:
    """Whether a pattern allows the name: never one that is not plain ASCII, of which nobody knows how it is read."""
    return is_plain(name) and any(matches(pattern, name) for pattern in allowed)


def is_plain(name: str) -> bool:
    """Whether it consists of printable ASCII characters without a space."""
    return bool(name) and name.isascii() and name.isprintable() and " " not in name


def best(of: Mapping[str, Found], name: str) -> Found | None:
    """What is said of a name: by itself, else by the pattern with the most characters beside `*` that matches it."""
    if name in of:
        return of[name]
    found = [pattern for pattern in of if "*" in pattern and matches(pattern, name)]
    return of[max(found, key=lambda pattern: (len(pattern) - pattern.count("*"), pattern))] if found else None
