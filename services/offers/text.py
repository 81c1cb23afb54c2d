"""Which texts of a stranger may be shown to people and models."""

import unicodedata
from collections.abc import Iterator
from typing import Any

from services.errors import InvalidService

# Joiners that writing systems and emoji need; every other character that cannot be seen is refused.
_SEEN = frozenset("\n\t\r\u200c\u200d")


def check(value: Any, at: str) -> None:
    """Raise InvalidService where a text below `value`, names included, holds what cannot be seen; `at` names it."""
    for text in _texts(value):
        # What Python takes for printable holds nothing of the kind, and is told so without a look at each character.
        if text.replace("\n", "").replace("\t", "").isprintable():
            continue
        hidden = next((char for char in text if _hidden(char)), None)
        if hidden is not None:
            raise InvalidService(
                f"{at} holds a character that cannot be seen (U+{ord(hidden):04X}): control characters, marks that turn"
                " the direction of text, and invisible ones are refused.",
                at,
            )


def _hidden(char: str) -> bool:
    # Cc: control, Cf: format (bidi marks, tags, zero-width), Cs: half a character, Co: private, Cn: none at all.
    return char not in _SEEN and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn")


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each
