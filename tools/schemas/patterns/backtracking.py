"""What only a backtracking engine can run, run by Python's `re` within bounds.

A pattern whose worst case grows exponentially is refused at declaration, and one whose worst case is a power of the
length is tried only on texts short enough for it.
"""

import math
import re
from dataclasses import dataclass, field

from tools.schemas.undecidable import Undecidable

# Steps of the engine that the worst subject may cost: a few tenths of a second.
_MAX_STEPS = 10_000_000
_MAX_SUBJECT = 10_000
# A count up to this is unrolled when the worst case is reckoned; a larger one counts as unbounded.
_UNROLLED = 16
_FLAGS = re.ASCII
# ECMA-262's white space, its complement, and what its dot does not match, as they are written inside a class.
_SPACES = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NOT_SPACES = (
    r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    r"\u3001-\ufefe\uff00-\U0010ffff"
)
_ANY = r"[^\n\r\u2028\u2029]"
_IN_CLASS = re.compile(r"\\.", re.DOTALL)

_TOKEN = re.compile(
    r"""(?P<class>\[\^?(?:\\.|[^\]\\])*\])|(?P<escape>\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.))"""
    r"""|(?P<count>(?:[*+?]|\{\d{1,5}(?:,\d{0,5})?\})\??)|(?P<open>\((?:\?(?:[:=!]|P?<\w+>))?)|(?P<close>\))"""
    r"""|(?P<choice>\|)|(?P<end>\$)|(?P<start>\^)|(?P<char>.)""",
    re.DOTALL,
)


class UnsafePattern(ValueError):
    """The pattern is not a regular expression that can be run here in bounded time; the message says why."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A pattern for Python's engine; on n characters it takes at most about options * n**repeats / repeats! steps."""

    regex: re.Pattern[str]
    repeats: int
    options: int

    @property
    def max_subject(self) -> int:
        """The longest subject that it is tried on, in characters."""
        steps = _MAX_STEPS / self.options * math.factorial(self.repeats)
        return min(_MAX_SUBJECT, int(steps ** (1 / max(self.repeats, 1))))

    def work(self, subject: str) -> int:
        """The steps that the subject may take."""
        steps: int = self.options * min(len(subject), self.max_subject) ** self.repeats
        return steps // math.factorial(self.repeats)

    def matches(self, subject: str) -> bool:
        """Whether the text holds a match; raises Undecidable for one of more than `max_subject` characters."""
        if len(subject) > self.max_subject:
            most = f"at most {self.max_subject:,} characters can be"
            raise Undecidable(f"is too long to be matched against its pattern; {most}", subject)
        return self.regex.search(subject) is not None


@dataclass(slots=True)
class _Part:
    """An atom or a closed group, and its worst case: n characters take options * n**repeats / repeats! steps."""

    text: str = ""
    group: "_Group | None" = None
    repeats: int = 0
    options: int = 1


@dataclass(slots=True)
class _Group:
    """The parts of a group, or of the whole pattern."""

    parts: list[_Part] = field(default_factory=list)
    choices: int = 1

    def worst(self) -> tuple[int, int]:
        """The group's own repeats and options."""
        options = self.choices
        for part in self.parts:
            options = min(options * part.options, _MAX_STEPS)
        return sum(part.repeats for part in self.parts), options


@dataclass(frozen=True, slots=True)
class Source:
    """A pattern as it was given, in Python's syntax, and as Python compiles it."""

    text: str
    python: str
    regex: re.Pattern[str]


def parse(pattern: str) -> Source:
    """The pattern in Python's syntax; raises UnsafePattern for one that ECMA-262 or Python does not have."""
    translated: list[str] = []
    applies = False
    for found in _TOKEN.finditer(pattern):
        kind, text = found.lastgroup, found.group()
        translated.append(r"\Z" if kind == "end" else _python(text))
        if kind == "count" and not applies:
            raise UnsafePattern("it uses an extension that ECMA-262 or this service does not have")
        if kind == "escape" and text[1] in "123456789k":
            raise UnsafePattern("it refers back to a group")
        if text in {"[]", "[^]", "{"}:
            raise UnsafePattern(f'its "{text}" means something else to Python')
        applies = applies if kind in {"count", "choice", "start", "end"} else kind != "open"
    python = "".join(translated)
    try:
        # Of a range that ends in a class, as in [!-\s], the translation would make another range.
        re.compile(pattern, _FLAGS)
        return Source(pattern, python, re.compile(python, _FLAGS))
    except (re.error, OverflowError, RecursionError) as error:
        raise UnsafePattern(f"it is not a regular expression that is understood here: {error}") from None


def _python(atom: str) -> str:
    """An atom of ECMA-262 as Python writes it: its `\\s`, `\\S` and dot know other characters than Python's."""
    if atom == ".":
        return _ANY
    if atom in {r"\s", r"\S"}:
        return f"[{_class_text(atom)}]"
    return _IN_CLASS.sub(lambda found: _class_text(found.group()), atom) if atom[0] == "[" else atom


def _class_text(escape: str) -> str:
    return {r"\s": _SPACES, r"\S": _NOT_SPACES}.get(escape, escape)


def bounded(pattern: Source) -> Bounded:
    """The pattern with its worst case; raises UnsafePattern when that is exponential."""
    stack = [_Group()]
    for found in _TOKEN.finditer(pattern.text):
        kind, text = found.lastgroup, found.group()
        if kind == "open":
            stack.append(_Group())
        elif kind == "close":
            group = stack.pop()
            repeats, options = group.worst()
            stack[-1].parts.append(_Part(group=group, repeats=repeats, options=options))
        elif kind == "count":
            _repeat(stack[-1].parts[-1], *_bounds(text))
        elif kind == "choice":
            stack[-1].choices += 1
        elif kind in {"class", "escape", "char"}:
            stack[-1].parts.append(_Part(text))
    repeats, options = stack[0].worst()
    # Without an anchor the search itself may begin at every character.
    return Bounded(pattern.regex, repeats + (not pattern.text.startswith("^")), options)


def _bounds(text: str) -> tuple[int, int | None]:
    """The least and the most that a quantifier allows; None is unbounded."""
    if text[0] != "{":
        return (1, None) if text[0] == "+" else (0, None if text[0] == "*" else 1)
    least, comma, most = text.rstrip("?")[1:-1].partition(",")
    return int(least), int(most or 0) or None if comma else int(least)


def _repeat(part: _Part, least: int, most: int | None) -> None:
    """Reckon the worst case of a part that is repeated; raises UnsafePattern when it is exponential."""
    fixed = part.repeats == 0 and part.options == 1
    if most is not None and most <= _UNROLLED:
        choices = max(most - least + 1, 1)
        part.repeats *= most
        part.options = min(part.options ** max(most, 1) * choices, _MAX_STEPS)
    elif fixed:
        part.repeats = 0 if least == most else 1
    elif part.group and _is_delimited(part.group):
        part.repeats += 1
    else:
        raise UnsafePattern("a repeated group repeats or chooses inside it, which can take exponential time")


def _is_delimited(group: _Group) -> bool:
    """Whether each round of a repeated group is told apart by a plain character, as in (?:-[a-z]+)* or (?:[a-z]+,)*."""
    atoms = [part.text for part in group.parts]
    if group.choices > 1 or not all(atoms):
        return False
    return any(
        (literal := _literal(atoms[at])) and not any(_can_match(atom, literal) for atom in others)
        for at, others in ((0, atoms[1:]), (-1, atoms[:-1]))
        if (group.parts[at].repeats, group.parts[at].options) == (0, 1)
    )


def _literal(atom: str) -> str:
    """The one character that the atom stands for, or ""."""
    if len(atom) == 1:
        return "" if atom == "." else atom
    return atom[1] if len(atom) == 2 and atom[0] == "\\" and not atom[1].isalnum() else ""


def _can_match(atom: str, character: str) -> bool:
    try:
        return re.fullmatch(_python(atom), character, _FLAGS) is not None
    except re.error:
        return True
