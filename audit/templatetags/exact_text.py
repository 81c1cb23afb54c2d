"""Untrusted text for a human's decision: complete, in its place, with nothing hidden in it.

What cannot be seen is spelled out in a `<span class="spelled">`, so that text which only looks like such a mark is
distinguishable: ‹U+202E›, ‹5,000 spaces›, ‹40 line breaks›, and ↵ where a line ends.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django import template
from django.utils.html import escape, strip_tags
from django.utils.safestring import SafeString, mark_safe

from audit.templatetags.audit_text import hides

register = template.Library()

# A longer run of blanks, or one of more lines, is counted instead of drawn: it could push text out of sight.
MOST_BLANKS = 12
MOST_LINES = 4
# Of a longer text the end is shown beside it as well, so that scrolling hides nothing there.
LONG = 1500
END = 120

_NONE = SafeString()
_INKED = re.compile("([!-~]+)")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]")
_NAMES = {" ": ("space", "spaces"), "\n": ("line break", "line breaks"), "\t": ("tab", "tabs")}


@dataclass(frozen=True, slots=True)
class Field:
    """One argument as a page shows it; `kind` says what it is and how long, `end` is the end of a long one."""

    name: SafeString
    kind: str
    shown: SafeString
    end: SafeString | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One change of an edit; what stayed the same at both ends of a text is `start` and `rest`."""

    op: str
    name: SafeString
    before: SafeString | None
    after: SafeString | None
    start: SafeString = _NONE
    rest: SafeString = _NONE


@register.filter
def exact(text: str) -> SafeString:
    """The text as HTML, to be shown in a box of its own that keeps white space."""
    return _spelled(text, "↵\n")


@register.filter
def exact_json(value: Any) -> SafeString:
    """A JSON value as HTML, indented, its strings in quotes."""
    return mark_safe(_json(value, "\n"))


@register.filter
def fields(arguments: dict[str, Any] | None) -> list[Field]:
    """A call's arguments one by one."""
    return [_field(name, value) for name, value in (arguments or {}).items()]


@register.filter
def changes(edit: list[dict[str, Any]]) -> list[Change]:
    """An approver's edit, change by change."""
    return [_change(each) for each in edit]


@register.filter
def as_typed(value: Any) -> str:
    """JSON for a text box: what cannot be seen in it is escaped, and so survives being edited."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if text.isascii():
        return text
    return "".join(json.dumps(char)[1:-1] if hides(text, at) else char for at, char in enumerate(text))


def _field(name: str, value: Any) -> Field:
    if isinstance(value, str):
        shown = exact(value)
        end = exact(value[-END:]) if len(strip_tags(shown)) > LONG else None
        return Field(_spelled(name, "↵"), _kind(value), shown, end)
    return Field(_spelled(name, "↵"), _kind(value), exact_json(value))


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "yes or no"
    if value is None:
        return "nothing"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, dict | list):
        count = len(value)
        return f"{'object' if isinstance(value, dict) else 'list'} of {count:,}"
    said = ["empty text" if not value else f"text, {_count(len(value), 'character', 'characters')}"]
    if "\n" in value:
        said.append(f"{value.count(chr(10)) + 1:,} lines")
    if _RIGHT_TO_LEFT.search(value):
        said.append("partly right to left, so its order on the screen is not that of its characters")
    return ", ".join(said)


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _change(each: dict[str, Any]) -> Change:
    op, before, after = each["op"], each.get("before"), each.get("after")
    name = _spelled(each["path"].removeprefix("/") or "all", "↵")
    if op == "replace" and isinstance(before, str) and isinstance(after, str):
        same, end = _same(before, after)
        return Change(
            op=op,
            name=name,
            start=_near(before[:same], last=True),
            before=exact(before[same : len(before) - end]),
            after=exact(after[same : len(after) - end]),
            rest=_near(before[len(before) - end :]),
        )
    return Change(
        op=op,
        name=name,
        before=None if op == "add" else _value(before),
        after=None if op == "remove" else _value(after),
    )


def _value(value: Any) -> SafeString:
    return exact(value) if isinstance(value, str) else exact_json(value)


def _same(before: str, after: str) -> tuple[int, int]:
    """How many characters two texts share at their starts, and at their ends beyond that, in whole words."""
    least = min(len(before), len(after))
    start = next((at for at in range(least) if before[at] != after[at]), least)
    while 0 < start < max(len(before), len(after)) and not before[start - 1].isspace():
        start -= 1
    rest = least - start
    end = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    while end and not before[-end].isspace():
        end -= 1
    return start, end


def _near(text: str, *, last: bool = False) -> SafeString:
    """The part of an unchanged text next to the change: its last characters, or its first."""
    if len(text) <= END:
        return _spelled(text, "↵\n", edges=False)
    near = _spelled(text[-END:] if last else text[:END], "↵\n", edges=False)
    left_out = _mark(_count(len(text) - END, "character", "characters") + " the same")
    return mark_safe(left_out + near if last else near + left_out)


def _json(value: Any, line: str) -> str:
    deeper = line + "  "
    if isinstance(value, dict) and value:
        members = [f"{_json(name, deeper)}: {_json(member, deeper)}" for name, member in value.items()]
        return "{" + ",".join(deeper + member for member in members) + line + "}"
    if isinstance(value, list) and value:
        return "[" + ",".join(deeper + _json(member, deeper) for member in value) + line + "]"
    if isinstance(value, str):
        return f"&quot;{_spelled(value, '↵')}&quot;"
    return escape(json.dumps(value))


def _spelled(text: str, line_end: str, *, edges: bool = True) -> SafeString:
    """The text with each blank that could hide something spelled out, and spaces at its edges unless those are none.

    A single line break is drawn as `line_end`.
    """
    parts: list[str] = []
    at = 0
    for piece in _INKED.split(text):
        if piece and "!" <= piece[0] <= "~":
            parts.append(escape(piece))
            at += len(piece)
            continue
        for blank, group in groupby(range(at, at + len(piece)), lambda index: _is_blank(text, index)):
            run = list(group)
            at_an_edge = edges and (run[0] == 0 or run[-1] == len(text) - 1)
            parts.append(_blanks(text, run, line_end, at_an_edge) if blank else escape(text[run[0] : run[-1] + 1]))
        at += len(piece)
    return mark_safe("".join(parts))


def _is_blank(text: str, at: int) -> bool:
    return text[at].isspace() or hides(text, at)


def _blanks(text: str, run: list[int], line_end: str, at_an_edge: bool) -> str:
    blanks = text[run[0] : run[-1] + 1]
    if len(blanks) > MOST_BLANKS or blanks.count("\n") > MOST_LINES or (at_an_edge and set(blanks) == {" "}):
        counted = _mark(", ".join(_counted(char, times) for char, times in Counter(blanks).items()))
        return counted + ("\n" if "\n" in blanks and "\n" in line_end else "")
    return "".join(_drawn(text, at, line_end) for at in run)


def _counted(char: str, times: int) -> str:
    if char in _NAMES:
        return _count(times, *_NAMES[char])
    return f"U+{ord(char):04X}" + (f" × {times:,}" if times > 1 else "")


def _drawn(text: str, at: int, line_end: str) -> str:
    if text[at] == "\n":
        return f'<span class="spelled{" line-end" if line_end[1:] else ""}">{line_end[0]}</span>{line_end[1:]}'
    return _mark(f"U+{ord(text[at]):04X}") if hides(text, at) else escape(text[at])


def _mark(words: str) -> str:
    return f'<span class="spelled">‹{words}›</span>'
