"""Calls that go elsewhere than to their service's address.

To one of the hosts that an owner listed, the arguments say which, by what method, and what is sent:

    {"host": "hooks.example.com", "path": "/v1/orders", "method": "POST", "query": {"dry": true}, "body": {…}}

An operation of an OpenAPI document may have servers of its own.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from yarl import URL

from services.errors import InvalidService
from services.execution.request import Request, encoded
from services.execution.styles import text_of
from services.offers.placing import METHODS, Http, check_path, origin_of
from tools.errors import ToolPermissionDenied, ToolValidationError


def build(http: Http, arguments: Mapping[str, Any]) -> Request:
    """The request of a call; raises ToolPermissionDenied for a host that is not listed, and ToolValidationError."""
    host, path = arguments.get("host"), arguments.get("path", "/")
    if host not in http.hosts:
        listed = ", ".join(http.hosts)
        raise ToolPermissionDenied(f"Only these hosts may be called: {listed}. An owner can change the list.")
    method = arguments.get("method", http.method)
    if method not in METHODS:
        raise ToolValidationError(f"method must be one of {', '.join(METHODS)}.", "method")
    query = arguments.get("query") or {}
    if not isinstance(query, dict):
        raise ToolValidationError("query must be an object.", "query")
    url = origin_of(host) + _path(path)
    if query:
        url += "?" + urlencode([(name, text_of(value)) for name, value in query.items()], quote_via=quote, safe="")
    headers = {"Accept": "application/json"} | http.headers
    body = arguments.get("body")
    sends = body is not None and method not in ("GET", "HEAD")
    return Request(method, url, headers, encoded({"": body}, headers) if sends else None)


def base(url: str, servers: list[str]) -> str:
    """Where an operation with servers of its own is called: at the one of its service's host at `url`, if there is."""
    own = str(URL(url).origin())
    near = [each for each in servers if not each or each.startswith("/") or same_origin(each, url)]
    found = (near or servers)[0]
    return found if found and not found.startswith("/") else own + found


def same_origin(url: str, other: str) -> bool:
    """Whether two addresses are on one host, by the same scheme and port."""
    return URL(url, encoded=True).origin() == URL(other).origin()


def _path(path: Any) -> str:
    """A path that leads nowhere but to itself: what no path has is encoded."""
    written = quote(path if isinstance(path, str) else "", safe="/-._~!$&'()*+,;=:@%")
    try:
        check_path(written, "path")
    except InvalidService as refused:
        raise ToolValidationError(refused.detail, "path") from None
    return written
