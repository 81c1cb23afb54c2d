"""One normal form of text, Unicode's NFC, in which "é" is the same text whether it is one character or two."""

import re
import unicodedata
from typing import Any

from tools.schemas.undecidable import Undecidable

# All below is in the form already.
_COMPOSABLE = re.compile(r"[\u0300-\U0010ffff]")
# More marks on one character than any writing has (UAX #15, stream-safe text) are sorted in quadratic time.
_MAX_MARKS = 30


def text(given: str) -> str:
    """The text in NFC; raises Undecidable for more than 30 combining marks in a row."""
    if given.isascii() or not _COMPOSABLE.search(given):
        return given
    marks = 0
    for character in given:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _MAX_MARKS:
            raise Undecidable(f"has more than {_MAX_MARKS} combining marks in a row", given)
    return unicodedata.normalize("NFC", given)


def form(value: Any) -> Any:
    """A JSON value with each text and name in NFC; raises Undecidable where two names of one object are then one."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return [form(item) for item in value]
    if isinstance(value, dict):
        named = {text(name): form(item) for name, item in value.items()}
        if len(named) < len(value):
            raise Undecidable("have two names that are the same text in different characters")
        return named
    return value
