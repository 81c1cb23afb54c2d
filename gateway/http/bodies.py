"""The body of a request: read within its bound, and the JSON in it, for every API."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import orjson

from tenants.errors import Refused

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class NotJSON(ValueError):
    """The body is not JSON that Toolgate takes; the message says why."""


class ClientGone(Exception):
    """The client hung up before its request was whole, or before it was answered."""


def check_length(headers: Mapping[str, str], most: int, too_large: Callable[[], Refused]) -> None:
    """Raise what `too_large` makes for a body that announces more bytes; `headers` have lower-case names."""
    length = headers.get("content-length", "")
    if length.isdigit() and int(length[:20]) > most:
        raise too_large()


async def read(headers: Mapping[str, str], receive: Receive, most: int, too_large: Callable[[], Refused]) -> bytes:
    """The whole body of an ASGI request. Raises what `too_large` makes beyond `most` bytes, and ClientGone."""
    check_length(headers, most, too_large)
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > most:
            raise too_large()
        if not message.get("more_body"):
            return b"".join(pieces)


def json(body: bytes) -> Any:
    """The value that a body holds. Raises NotJSON, also for one that is nested deeper than it could be written again
    (254 levels)."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise NotJSON(f"The body is not valid JSON: {error}") from None
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        raise NotJSON("The body is nested too deeply.") from None
    return value


def json_object(body: bytes, refused: type[Refused]) -> dict[str, Any]:
    """The JSON object that a body holds; raises `refused` with the reason when it holds none."""
    try:
        value = json(body)
    except NotJSON as error:
        raise refused(str(error)) from None
    if not isinstance(value, dict):
        raise refused("The body must be a JSON object.")
    return value
