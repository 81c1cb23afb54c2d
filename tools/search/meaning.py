"""What the tools that search a user's own things share: whether they compare meanings, and what they say of that."""

import re

from tools.interface import ToolContext
from tools.stores import Meaning

# A phrase that must occur as it is, or a word that must not: who writes these asks for words.
_EXACT = re.compile(r'"|(^|\s)-')


def sought(ctx: ToolContext, words: str) -> tuple[Meaning | None, dict[str, list[str]]]:
    """The vector of the words, if there is one, and what the tool's output says of it: how was searched, or nothing
    where the operator has named no model for that. Raises WaitsForMeaning."""
    if ctx.meaning is None:
        return None, {}
    meaning = None if _EXACT.search(words) else ctx.meaning(words)
    return meaning, {"searched_by": ["words"] if meaning is None else ["words", "meaning"]}
