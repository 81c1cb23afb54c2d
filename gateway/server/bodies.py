"""One limit on the bodies of requests, in front of every route, for every client and every framing of the body."""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings

from gateway.compat.app import PREFIX
from gateway.server import refusals

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# Where files are uploaded: the body is the file.
_FILES = re.compile(r"/api/v1/conversations/[0-9A-Fa-f-]{36}/files/")
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


async def bounded(application: Application, scope: Scope, receive: Receive, send: Send) -> None:
    """Let the application answer an HTTP request; it gets no more of the body than the limit.

    A longer body is 413: at once where its length is announced, else as soon as it exceeds the limit; the application
    then sees that its client has disconnected.
    """
    most = _most(scope)
    if _announced(scope) > most:
        await _refuse(scope, send, most)
        return
    taken = 0
    started = refused = False

    async def take() -> Message:
        nonlocal taken, refused
        if refused:
            return {"type": "http.disconnect"}
        message = await receive()
        taken += len(message.get("body", b""))
        if taken <= most:
            return message
        refused = True
        if not started:
            await _refuse(scope, send, most)
        return {"type": "http.disconnect"}

    async def give(message: Message) -> None:
        nonlocal started
        if refused and not started:
            return
        started = True
        await send(message)

    await application(scope, take, give)


def _most(scope: Scope) -> int:
    if scope["path"].startswith(PREFIX):
        return int(settings.TOOLGATE_MAX_V1_BODY_BYTES)
    upload = scope["method"] == "PUT" and _FILES.fullmatch(scope["path"])
    return int(settings.TOOLGATE_MAX_FILE_BYTES if upload else settings.TOOLGATE_MAX_BODY_BYTES)


def _announced(scope: Scope) -> int:
    """The length that the request states; 0 for a body in chunks."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0


async def _refuse(scope: Scope, send: Send, most: int) -> None:
    detail = f"The request's body may have up to {most:,} bytes."
    headers, body = refusals.answer(413, scope["path"], scope["headers"], detail)
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
