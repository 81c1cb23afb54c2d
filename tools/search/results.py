"""One search result, made fit to store and show from whatever a remote sent."""

import html
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

MAX_RESULTS = 8
_MAX_TITLE = 300
_MAX_SNIPPET = 600
_MAX_URL = 2048

_TAG = re.compile(r"<[^<>]*>")
_REFUSED = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page that was found: plain text without markup or control characters, and an http(s) URL."""

    title: str
    url: str
    snippet: str

    def as_json(self) -> dict[str, str]:
        """`{"title", "url", "snippet"}`."""
        return asdict(self)


def results(rows: Any, *, title: str, url: str, snippet: str) -> list[SearchResult]:
    """At most MAX_RESULTS results from an engine's rows, given its names for the three; unusable rows are left out."""
    found: list[SearchResult] = []
    for row in _dicts(rows):
        address = _address(row.get(url))
        if address:
            heading = _text(row.get(title), _MAX_TITLE) or address
            found.append(SearchResult(heading, address, _text(row.get(snippet), _MAX_SNIPPET)))
        if len(found) == MAX_RESULTS:
            break
    return found


def _dicts(rows: Any) -> Iterable[dict[str, Any]]:
    return (row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()


def _text(value: Any, limit: int) -> str:
    """The value as one line of plain text; "" when it is not text."""
    if not isinstance(value, str):
        return ""
    # Markup can make a text a few times longer, never more; what is cut here would not be shown.
    plain = html.unescape(_TAG.sub("", value[: 10 * limit]))
    plain = " ".join(_REFUSED.sub(" ", plain).split())
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def _address(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MAX_URL or _REFUSED.search(value) or " " in value:
        return ""
    try:
        parts = urlsplit(value)
    except ValueError:
        return ""
    return value if parts.scheme in {"http", "https"} and parts.hostname and "@" not in parts.netloc else ""
