"""A tool's arguments as an HTTP request: each in its place, encoded so that it cannot leave it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from services.execution import multipart
from services.execution.styles import joined, pairs, parts, text_of
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
    path, query, headers = {}, [], {"Accept": "application/json"} | http.headers
    body: dict[str, Any] = {}
    form: list[tuple[str, str]] = []
    files: list[multipart.Part] = []
    for name, value in given.items():
        (where, called), style = http.place(name), http.style(name)
        if where == "path":
            path[called] = _segments(name, value, style)
        elif value is None and where != "body":
            continue
        elif where == "query":
            query += pairs(called, value, style)
        elif where == "header":
            headers[called] = _header(name, called, joined(value, style))
        elif http.body == "form":
            form += _fields(called, value, style)
        elif http.body == "multipart":
            files += multipart.parts(name, called, value, style, http.media(name))
        else:
            body[called] = value
    url = base.rstrip("/") + _path(http.path, path)
    if query:
        url += "?" + urlencode(query, quote_via=quote, safe="")
    if http.body == "form":
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return Request(http.method, url, headers, urlencode(form).encode())
    if http.body == "multipart":
        data, headers["Content-Type"] = multipart.encoded(files)
        return Request(http.method, url, headers, data)
    return Request(http.method, url, headers, encoded(body, headers) if http.body == "json" else None)


def _fields(called: str, value: Any, style: str) -> list[tuple[str, str]]:
    """The fields of a form that an argument is; a form that is one argument is called ""."""
    if called or not isinstance(value, dict):
        return [] if value is None else pairs(called, value, style or "json")
    return [pair for name, member in value.items() if member is not None for pair in pairs(name, member, "repeat")]


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


def _segments(name: str, value: Any, style: str) -> str:
    """A value as a part of one segment, of several texts where its style separates them by commas."""
    if style != "comma" or not isinstance(value, dict | list):
        return _segment(name, value)
    return ",".join(_segment(name, each) for each in parts(value or ""))


def _segment(name: str, value: Any) -> str:
    """A value as a part of one segment: what would end the segment is encoded, and what climbs out of it refused."""
    if isinstance(value, dict | list) or value is None:
        raise ToolValidationError(f"{name} is a part of the address, and must be a text or a number.", name)
    text = text_of(value)
    if not text or "\x00" in text or _DOTS.search(text):
        raise ToolValidationError(f"{name} is a part of the address, and may not be empty, or hold NUL, . or ..", name)
    return quote(text, safe="")


def _header(name: str, called: str, text: str) -> str:
    if called.lower() in REFUSED_HEADERS or not _HEADER_VALUE.fullmatch(text):
        raise ToolValidationError(f"{name} is a header, and must be printable ASCII of up to 2,000 characters.", name)
    return text


def encoded(values: dict[str, Any], headers: dict[str, str]) -> bytes:
    """The JSON body as it is sent; its type is added to the headers."""
    headers["Content-Type"] = "application/json"
    # An OpenAPI body that is no object is one argument, called "".
    return json.dumps(values.get("", values), ensure_ascii=False, separators=(",", ":")).encode()
