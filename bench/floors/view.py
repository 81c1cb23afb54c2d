"""A bare ASGI view, under the same uvicorn as Toolgate: reads the body, answers as many bytes as a chat does."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
BODY = b'{"status":"completed","content":"' + b"x" * 500 + b'"}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]


async def application(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Answer."""
    if scope["type"] != "http":
        raise NotImplementedError(scope["type"])
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})
