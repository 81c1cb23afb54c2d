"""The answers to requests that are refused before they reach a route, in the form of the requested API."""

import http
from collections.abc import Iterable

import orjson

from gateway.compat import app as compatible
from gateway.http import problems
from gateway.http.asgi import SECURITY
from gateway.mcp import app as mcp
from gateway.mcp import errors as mcp_errors
from gateway.process.request_ids import request_id

_CODES = {
    400: ("invalid_request", "This is no valid HTTP/1.1 request."),
    408: ("request_timeout", "The request did not arrive in time. Send it again, whole."),
    413: ("content_too_large", "The request's body is too large."),
    431: ("headers_too_large", "The request's address and headers are too long or too many."),
}


def answer(
    status: int, path: str, given: Iterable[tuple[bytes, bytes]], detail: str = ""
) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Headers and body of the refusal of a request with this path and these headers; the connection is then closed.

    A problem document under /api/, the vendor's error under /v1/, JSON-RPC's at /mcp, a line of text elsewhere.
    """
    code, standard = _CODES[status]
    detail = detail or standard
    kind, body = "text/plain; charset=utf-8", f"{status} {http.HTTPStatus(status).phrase}: {detail}\n".encode()
    if path.startswith("/api/"):
        kind, body = problems.CONTENT_TYPE, orjson.dumps(problems.problem(status, code, detail))
    elif path.startswith(compatible.PREFIX):
        kind, body = "application/json", orjson.dumps(compatible.error(path, status, code, detail))
    elif path in mcp.PATHS:
        kind, body = "application/json", orjson.dumps(mcp_errors.body(status, code, detail))
    headers = {
        "content-type": kind,
        "content-length": str(len(body)),
        **SECURITY,
        "x-request-id": request_id(dict(given).get(b"x-request-id", b"").decode("latin-1")),
        "connection": "close",
    }
    return [(name.encode(), value.encode()) for name, value in headers.items()], body


def raw(status: int, url: bytes, given: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The same as raw HTTP/1.1, for a request of which this much of the address was read."""
    headers, body = answer(status, url.partition(b"?")[0].decode("latin-1"), given)
    lines = [b"HTTP/1.1 %d %b" % (status, http.HTTPStatus(status).phrase.encode())]
    return b"\r\n".join([*lines, *(b"%b: %b" % each for each in headers)]) + b"\r\n\r\n" + body
