"""Answers without a stated length for clients of HTTP/1.0, which know no chunks: they end with their connection."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[..., Awaitable[None]]


def unframed(
    cycle: RequestResponseCycle, application: Callable[..., Awaitable[None]]
) -> Callable[..., Awaitable[None]]:
    """The application, whose answer in this cycle has no chunks; uvicorn makes some for every version of HTTP."""
    lengthless = False

    async def answer(scope: Any, receive: Any, send: Send) -> None:
        async def give(message: Message) -> None:
            nonlocal lengthless
            if message["type"] == "http.response.start":
                lengthless = all(name.lower() != b"content-length" for name, _ in message.get("headers", ()))
                if lengthless:
                    cycle.chunked_encoding = False
            elif lengthless:
                # What uvicorn still expects: this piece, and nothing behind it.
                cycle.expected_content_length = len(message.get("body", b""))
            await send(message)

        await application(scope, receive, give)

    return answer
