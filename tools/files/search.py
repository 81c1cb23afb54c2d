"""Finding text in files by a regular expression, in time linear in the text: RE2 runs it, whatever it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import re2  # type: ignore[import-untyped]

from tools.errors import ToolValidationError

MAX_PATTERN = 512
# Instructions times bytes of one search, at about 10 nanoseconds each where RE2 cannot keep states. An honest pattern,
# of 20 instructions, reads 25 MB with it, in a tenth of a second.
MOST_WORK = 2**29
_SHOWN = 300
_OPTIONS = re2.Options()
_OPTIONS.max_mem = 4 * 1024 * 1024
_OPTIONS.log_errors = False
_OPTIONS.never_nl = True


@dataclass(frozen=True, slots=True)
class Match:
    """A line that holds a match: its number from 1, and its text, cut where it is long."""

    line: int
    text: str


class Pattern:
    """A compiled expression, with what work it may still do."""

    def __init__(self, pattern: str):
        """Raises ToolValidationError for what RE2 cannot run."""
        if len(pattern) > MAX_PATTERN:
            raise ToolValidationError(f'"pattern" is longer than {MAX_PATTERN} characters.', "pattern")
        try:
            self._regex: Any = re2.compile(f"(?m){pattern}", _OPTIONS)
        except re2.error as error:
            raise ToolValidationError(
                '"pattern" is no regular expression of RE2, which has no look-around and no back-references: '
                f"{_words(error)}",
                "pattern",
            ) from None
        self._size = max(self._regex.programsize, self._regex.reverseprogramsize, 1)
        self._left = MOST_WORK

    def affords(self, size: int) -> bool:
        """Whether a text of so many bytes may be searched yet."""
        return bool(self._size * size <= self._left)

    def matches(self, body: bytes, most: int) -> list[Match]:
        """The lines of a text that hold a match, the first `most` of them."""
        self._left -= self._size * len(body)
        return list(self._lines(body, most))

    def _lines(self, body: bytes, most: int) -> Iterator[Match]:
        at, number, counted = 0, 1, 0
        for _ in range(most):
            found = self._regex.search(body, at)
            if found is None:
                return
            begin = body.rfind(b"\n", 0, found.start()) + 1
            end = body.find(b"\n", found.start())
            end = len(body) if end < 0 else end
            if begin == len(body) and body.endswith(b"\n"):
                # An empty match behind the last line.
                return
            number += body.count(b"\n", counted, begin)
            counted = begin
            line = body[begin : min(end, begin + 4 * _SHOWN)].decode("utf-8", "ignore").rstrip("\r")
            yield Match(number, line if len(line) <= _SHOWN else line[:_SHOWN] + "…")
            at = end + 1
            if at > len(body):
                return


def _words(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
