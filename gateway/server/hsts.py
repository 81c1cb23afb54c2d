"""Strict-Transport-Security on every answer over HTTPS, also on those that bypass Django's middleware."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
NAME = b"strict-transport-security"


def secured(application: Application) -> Application:
    """The application, whose answers over HTTPS get the header with SECURE_HSTS_SECONDS; 0 adds nothing."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope.get("scheme") != "https" or not settings.SECURE_HSTS_SECONDS:
            await application(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                # Django's own middleware has answered its routes already.
                if not any(name.lower() == NAME for name, _ in headers):
                    headers.append((NAME, f"max-age={settings.SECURE_HSTS_SECONDS}".encode()))
                message = {**message, "headers": headers}
            await send(message)

        await application(scope, receive, sending)

    return answer
