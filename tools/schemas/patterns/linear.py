"""Regular expressions run by RE2, in time linear in the text whatever the pattern.

What is translated is what Python's own parser makes of a pattern, so that a pattern means the same in both engines.
"""

import re
from dataclasses import dataclass
from re import _constants as names  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import re2  # type: ignore[import-untyped]

from tools.schemas.undecidable import Undecidable

# Of one pattern's program and of the states that it has seen. When the states need more, RE2 goes on without them.
MAX_MEMORY = 2 * 1024 * 1024
# Instructions times bytes of one search, at about 20 nanoseconds each where RE2 cannot keep states: 1.3 seconds. An
# honest pattern takes a hundredth of that.
MAX_WORK = 2**26
_OPTIONS = re2.Options()
_OPTIONS.max_mem = MAX_MEMORY
_OPTIONS.log_errors = False
# RE2's own \s lacks \v.
_SPACES = r"\t-\r "
_CATEGORIES = {
    names.CATEGORY_DIGIT: "0-9",
    names.CATEGORY_NOT_DIGIT: r"\x00-/:-\x{10ffff}",
    names.CATEGORY_SPACE: _SPACES,
    names.CATEGORY_NOT_SPACE: r"\x00-\x08\x0e-\x1f!-\x{10ffff}",
    names.CATEGORY_WORD: "0-9A-Z_a-z",
    names.CATEGORY_NOT_WORD: r"\x00-/:-@\[-\^`{-\x{10ffff}",
}
_PLACES = {
    names.AT_BEGINNING: r"\A",
    names.AT_BEGINNING_STRING: r"\A",
    names.AT_END_STRING: r"\z",
    names.AT_BOUNDARY: r"\b",
    names.AT_NON_BOUNDARY: r"\B",
}


class _NotLinear(Exception):
    """RE2 has nothing of this meaning."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A pattern that RE2 has compiled; `size` is the number of its program's instructions."""

    regex: Any
    size: int

    def work(self, subject: str) -> int:
        """Instructions times bytes."""
        return self.size * len(subject.encode("utf-8", "surrogatepass"))

    def matches(self, subject: str) -> bool:
        """Whether the text holds a match; raises Undecidable beyond MAX_WORK, and for a lone surrogate."""
        if self.work(subject) > MAX_WORK:
            most = MAX_WORK // self.size
            raise Undecidable(f"is too long to be matched against its pattern; at most {most:,} bytes can be", subject)
        try:
            text = subject.encode()
        except UnicodeEncodeError:
            raise Undecidable("holds a lone surrogate, which is no character", subject) from None
        return self.regex.search(text) is not None


def compiled(python: str) -> Linear | None:
    """A pattern in Python's syntax, which Python compiles, for RE2; None when RE2 cannot run it."""
    try:
        regex = re2.compile(_sequence(parser.parse(python, re.ASCII)), _OPTIONS)
    except (_NotLinear, re2.error):
        return None
    return Linear(regex, max(regex.programsize, regex.reverseprogramsize))


def _sequence(parsed: Any) -> str:
    return "".join(_one(operation, value) for operation, value in parsed)


def _one(operation: Any, value: Any) -> str:
    if operation is names.LITERAL:
        return _character(value)
    if operation is names.NOT_LITERAL:
        return f"[^{_character(value)}]"
    if operation is names.ANY:
        return r"[^\n]"
    if operation is names.IN:
        return _class(value)
    if operation is names.AT and value in _PLACES:
        return _PLACES[value]
    if operation is names.SUBPATTERN:
        _, added, removed, inner = value
        if added or removed:
            raise _NotLinear
        return f"(?:{_sequence(inner)})"
    if operation is names.BRANCH:
        return f"(?:{'|'.join(_sequence(each) for each in value[1])})"
    # Whether there is a match does not depend on how greedy a repetition is.
    if operation in (names.MAX_REPEAT, names.MIN_REPEAT):
        least, most, inner = value
        bounds = f"{{{least},}}" if most == names.MAXREPEAT else f"{{{least},{most}}}"
        return f"(?:{_sequence(inner)}){bounds}"
    raise _NotLinear


def _class(items: list[tuple[Any, Any]]) -> str:
    negated = items[0][0] is names.NEGATE
    inside = "".join(_item(operation, value) for operation, value in items[negated:])
    return f"[{'^' if negated else ''}{inside}]"


def _item(operation: Any, value: Any) -> str:
    if operation is names.LITERAL:
        return _character(value)
    if operation is names.RANGE:
        return f"{_character(value[0])}-{_character(value[1])}"
    if operation is names.CATEGORY and value in _CATEGORIES:
        return _CATEGORIES[value]
    raise _NotLinear


def _character(code: int) -> str:
    return f"\\x{{{code:x}}}"
