"""JSON Schema patterns, which are ECMA-262, without the surprises of Python's `re`: `$` is the end of the text alone,
`\\d`, `\\w` and `\\b` are about ASCII, and `\\s` is every white space of Unicode.

RE2 runs them (`linear.py`), in time that grows with the length of the text. What RE2 does not have (a look ahead, a
count above 1,000) is run by Python's backtracking engine (`backtracking.py`) on texts that are short enough for it.
"""

from dataclasses import dataclass
from functools import lru_cache

from tools.schemas.patterns import backtracking, linear
from tools.schemas.patterns.backtracking import UnsafePattern

__all__ = ["MAX_PATTERN", "Pattern", "UnsafePattern", "compiled", "matches"]

MAX_PATTERN = 512


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern, for one of the two engines."""

    engine: linear.Linear | backtracking.Bounded

    def matches(self, subject: str) -> bool:
        """Whether the text holds a match; raises Undecidable when that cannot be told in bounded time."""
        return self.engine.matches(subject)

    def work(self, subject: str) -> int:
        """The most that trying the subject can take, in units of about 20 nanoseconds."""
        return self.engine.work(subject)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Pattern:
    """The pattern as JSON Schema means it; raises UnsafePattern."""
    if len(pattern) > MAX_PATTERN:
        raise UnsafePattern(f"it is longer than {MAX_PATTERN} characters")
    # Python's compiler says what is a pattern at all: both engines take the same ones, and mean the same by them.
    source = backtracking.parse(pattern)
    try:
        ready = linear.compiled(source.python)
        return Pattern(ready if ready is not None else backtracking.bounded(source))
    except RecursionError:
        raise UnsafePattern("its groups are nested too deeply") from None


def matches(pattern: str, subject: str) -> bool:
    """Whether `subject` holds a match. Raises UnsafePattern, and Undecidable for a text that is too long."""
    return compiled(pattern).matches(subject)
