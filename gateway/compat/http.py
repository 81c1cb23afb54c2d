"""HTTP as the compatible APIs need it, on bare ASGI."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import orjson

from gateway.runs.errors import Unavailable
from gateway.runs.prompting.client_request import BadRequest
from tenants.errors import Refused

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = dict[str, str]

_SECURITY = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


class ClientGone(Exception):
    """The client hung up."""


class TooLarge(Refused):
    """The body is larger than what is taken."""

    status = 413
    code = "request_too_large"


def headers(scope: Scope) -> Headers:
    """The request's headers, names in lower case."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def body(given: Mapping[str, str], receive: Receive, most: int) -> bytes:
    """The whole body. Raises TooLarge or ClientGone."""
    length = given.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise TooLarge(f"The request may have up to {most:,} bytes.")
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > most:
            raise TooLarge(f"The request may have up to {most:,} bytes.")
        if not message.get("more_body"):
            return b"".join(pieces)


def parsed(data: bytes) -> dict[str, Any]:
    """The JSON object that a body holds. Raises BadRequest."""
    try:
        given = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The body is not valid JSON: {error}") from None
    if not isinstance(given, dict):
        raise BadRequest("The body must be a JSON object.")
    return given


async def hung_up(receive: Receive) -> None:
    """Return when the client has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def send_json(send: Send, status: int, content: Any, identity: str, more: Headers | None = None) -> None:
    """Answer with JSON."""
    data = orjson.dumps(content, default=str)
    fields = {"content-type": "application/json", "content-length": str(len(data)), **(more or {})}
    if status == Unavailable.status:
        fields.setdefault("retry-after", str(Unavailable.retry_after))
    await _begin(send, status, fields, identity)
    await send({"type": "http.response.body", "body": data})


async def begin_stream(send: Send, identity: str, more: Mapping[str, str]) -> None:
    """Begin an answer of server-sent events."""
    fields = {name.lower(): value for name, value in more.items()}
    await _begin(send, 200, {**fields, "content-type": "text/event-stream; charset=utf-8"}, identity)


async def _begin(send: Send, status: int, fields: Headers, identity: str) -> None:
    named = {**_SECURITY, "x-request-id": identity, "request-id": identity, **fields}
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
