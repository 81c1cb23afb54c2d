"""A tool's arguments as an HTTP request: each in its place, encoded so that it cannot leave it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from services.offers.headers import REFUSED_HEADERS
from services.offers.placing import PLACEHOLDER, Http
from tools.errors import ToolValidationError

_DOTS = re.compile(r"(^|[/\\])\.{1,2}($|[/\\])")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,2000}")


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent; `url` is the service's own with path and query."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    data: bytes | None = None


def build(base: str, http: Http, arguments: Mapping[str, Any], identity: Mapping[str, str]) -> Request:
    """The request of a call; `identity` has the values of the placeholders that no argument may fill.

    Raises ToolValidationError for an argument that cannot be where it belongs.
    """
    given = {**arguments, **identity}
    path, query, headers, body = {}, [], {"Accept": "application/json"} | http.headers, {}
    for name, value in given.items():
        where, called = http.place(name)
        if where == "path":
            path[called] = _segment(name, value)
        elif value is None and where != "body":
            continue
        elif where == "query":
            query += [(called, text_of(each)) for each in (value if isinstance(value, list) else [value])]
        elif where == "header":
            headers[called] = _header(name, called, value)
        else:
            body[called] = value
    url = base.rstrip("/") + _path(http.path, path)
    if query:
        url += "?" + urlencode(query, quote_via=quote, safe="")
    return Request(http.method, url, headers, encoded(http.body, body, headers))


def _path(template: str, values: Mapping[str, str]) -> str:
    """The path with every name in braces replaced."""
    for name in PLACEHOLDER.findall(template):
        if name not in values:
            raise ToolValidationError(f"{name} is a part of the address, and must be given.", name)
    path = PLACEHOLDER.sub(lambda found: values[found.group(1)], template)
    # Two values in one segment may make it what neither is.
    for part in path.split("/"):
        if part in (".", ".."):
            raise ToolValidationError("A part of the address may not be . or .., however it is put together.")
    return path


def _segment(name: str, value: Any) -> str:
    """A value as a part of one segment: what would end the segment is encoded, and what climbs out of it refused."""
    if isinstance(value, dict | list) or value is None:
        raise ToolValidationError(f"{name} is a part of the address, and must be a text or a number.", name)
    text = text_of(value)
    if not text or "\x00" in text or _DOTS.search(text):
        raise ToolValidationError(f"{name} is a part of the address, and may not be empty, or hold NUL, . or ..", name)
    return quote(text, safe="")


def text_of(value: Any) -> str:
    """A value in a query, a path, a header or a form."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _header(name: str, called: str, value: Any) -> str:
    text = text_of(value)
    if called.lower() in REFUSED_HEADERS or not _HEADER_VALUE.fullmatch(text):
        raise ToolValidationError(f"{name} is a header, and must be printable ASCII of up to 2,000 characters.", name)
    return text


def encoded(kind: str, values: dict[str, Any], headers: dict[str, str]) -> bytes | None:
    """The body as it is sent; its type is added to the headers."""
    if kind == "json":
        headers["Content-Type"] = "application/json"
        # An OpenAPI body that is no object is one argument, called "".
        return json.dumps(values.get("", values), ensure_ascii=False, separators=(",", ":")).encode()
    if kind == "form":
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return urlencode([(name, text_of(value)) for name, value in values.items() if value is not None]).encode()
    return None
