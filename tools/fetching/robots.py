"""What a site's robots.txt says of us (RFC 9309), remembered for a while by each worker.

200            its rules hold; what is after MAX_BYTES does not count
4xx, not 429   there is none: everything may be fetched
anything else  it is not known, so nothing may be fetched
"""

import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

from yarl import URL

AGENT = "toolgate"
PATH = "/robots.txt"
MAX_BYTES = 512 * 1024
FRESH_SECONDS = 3600.0
# How long a site is not asked again that did not say.
UNKNOWN_SECONDS = 60.0
# All rules that a worker remembers together, in characters.
MOST_CHARACTERS = 8 * 1024 * 1024
# What an entry without rules counts.
_ENTRY = 200

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")

# Asks for a robots.txt: its status and the beginning of its text. Raises ToolError where nothing answers.
Ask = Callable[[URL], Awaitable[tuple[int, str]]]


class Unknown(Exception):
    """The site does not say what may be fetched; the message says what it answered."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for us, as (allows, path pattern)."""

    rules: tuple[tuple[bool, str], ...] = ()

    def allow(self, target: str) -> bool:
        """Whether a path with its query may be fetched: the longest pattern that fits decides, among equals Allow."""
        if target == PATH:
            return True
        fitting = [(len(pattern), allows) for allows, pattern in self.rules if _fits(pattern, target)]
        return not fitting or max(fitting)[1]

    @property
    def size(self) -> int:
        """How much of what is remembered they are."""
        return _ENTRY + sum(len(pattern) for _, pattern in self.rules)


def parse(text: str) -> Rules:
    """The rules of the groups that name us; of those for everybody where none does."""
    groups: dict[str, list[tuple[bool, str]]] = {}
    named: set[str] = set()
    in_rules = True
    for line in text.replace("\ufeff", "", 1).splitlines():
        field, colon, value = line.partition("#")[0].partition(":")
        field, value = field.strip().lower(), value.strip()
        if not colon:
            continue
        if field == "user-agent":
            if in_rules:
                named, in_rules = set(), False
            named.add(value.lower().partition("/")[0].strip())
            for each in named & {AGENT, "*"}:
                groups.setdefault(each, [])
        elif field in ("allow", "disallow"):
            in_rules = True
            # An empty Disallow disallows nothing.
            for each in named & {AGENT, "*"} if value else ():
                groups[each].append((field == "allow", _normal(value)))
    return Rules(tuple(groups.get(AGENT, groups.get("*", []))))


class Memory:
    """The rules of sites that were asked, those used last; for one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[URL, tuple[float, Rules | str]] = OrderedDict()
        self._characters = 0

    async def allows(self, url: URL, ask: Ask) -> bool:
        """Whether the URL may be fetched, by what its site says. Raises Unknown, and what `ask` raises."""
        site = url.origin()
        found = self._known.get(site)
        if found is None or found[0] <= self._clock():
            known = _answered(*await ask(site.with_path(PATH)))
            self._remember(site, known)
        else:
            self._known.move_to_end(site)
            known = found[1]
        if isinstance(known, str):
            raise Unknown(known)
        return known.allow(_normal(url.raw_path_qs))

    def _remember(self, site: URL, known: Rules | str) -> None:
        self._forget(site)
        seconds = UNKNOWN_SECONDS if isinstance(known, str) else FRESH_SECONDS
        self._known[site] = (self._clock() + seconds, known)
        self._characters += _size(known)
        while self._characters > MOST_CHARACTERS and len(self._known) > 1:
            self._forget(next(iter(self._known)))

    def _forget(self, site: URL) -> None:
        old = self._known.pop(site, None)
        if old is not None:
            self._characters -= _size(old[1])


def _size(known: Rules | str) -> int:
    return _ENTRY if isinstance(known, str) else known.size


def _answered(status: int, text: str) -> Rules | str:
    if 200 <= status < 300:
        return parse(text)
    if 400 <= status < 500 and status != 429:
        return Rules()
    return f"HTTP {status}"


def _normal(target: str) -> str:
    """A path or pattern in which equal characters are written alike."""
    return _ESCAPE.sub(_unescaped, _NOT_ASCII.sub(lambda found: quote(found[0], errors="replace"), target))


def _unescaped(found: re.Match[str]) -> str:
    """An escaped character as it is where that means the same, else in capitals."""
    plain = chr(int(found[1], 16))
    return plain if _UNRESERVED.fullmatch(plain) else found[0].upper()


def _fits(pattern: str, target: str) -> bool:
    """Whether the pattern fits the target's beginning, "*" being anything and a last "$" the end; in linear time."""
    ends = pattern.endswith("$")
    first, *rest = (pattern[:-1] if ends else pattern).split("*")
    if not target.startswith(first):
        return False
    at = len(first)
    for index, part in enumerate(rest):
        if ends and index == len(rest) - 1:
            return len(target) - len(part) >= at and target.endswith(part)
        found = target.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return not ends or at == len(target)
