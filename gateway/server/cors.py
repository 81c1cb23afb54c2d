"""CORS: what a browser lets pages of CORS_ALLOWED_ORIGINS request and read, on every route.

It wraps the whole application: half of the routes bypass Django, and a page must also be able to read an answer that is
given before any route, such as a 413. Cookies are never allowed: other origins send a key, or a stream token.
"""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Fields = list[tuple[bytes, bytes]]

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
ALLOWED = (
    *("accept", "authorization", "content-type", "idempotency-key", "last-event-id", "x-api-key", "x-request-id"),
    *("anthropic-beta", "anthropic-dangerous-direct-browser-access", "anthropic-version", "cache-control"),
    *("openai-beta", "openai-organization", "openai-project", "user-agent", "x-csrftoken", "x-requested-with"),
    *("mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "if-match"),
)
# What the SDKs send about themselves; each release may send more. And the arguments that an MCP client repeats.
_OF_SDKS = re.compile(r"x-stainless-[a-z-]{1,60}|mcp-param-[a-z0-9-]{1,60}")
EXPOSED = (
    "X-Request-Id, Request-Id, RateLimit, RateLimit-Policy, Retry-After, X-Should-Retry, WWW-Authenticate, "
    "Mcp-Session-Id, ETag"
)
_LONGEST = 4096
_MAX_AGE = "7200"


def shared(application: Application) -> Application:
    """The application, with its answers readable by pages of the allowed origins."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        # Without any such origin, nothing is added.
        if scope["type"] != "http" or not settings.CORS_ALLOWED_ORIGINS:
            await application(scope, receive, send)
        elif scope["method"] == "OPTIONS" and _field(scope, b"access-control-request-method"):
            await _preflight(scope, send)
        else:
            await application(scope, receive, _readable(scope, send))

    return answer


def _readable(scope: Scope, send: Send) -> Send:
    origin = _allowed_origin(scope)

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            # Also for a page of this origin or none: a cache must not serve its answer to another.
            fields: Fields = [*message.get("headers", ()), (b"vary", b"origin")]
            if origin:
                fields += [(b"access-control-allow-origin", origin)]
                fields += [(b"access-control-expose-headers", EXPOSED.encode())]
            message = {**message, "headers": fields}
        await send(message)

    return sending


async def _preflight(scope: Scope, send: Send) -> None:
    fields: Fields = [(b"content-length", b"0"), (b"vary", b"origin, access-control-request-headers")]
    if origin := _allowed_origin(scope):
        asked = _field(scope, b"access-control-request-headers")[:_LONGEST].decode("latin-1").lower()
        of_sdks = [name for each in asked.split(",") if _OF_SDKS.fullmatch(name := each.strip())]
        fields += [
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-methods", METHODS.encode()),
            (b"access-control-allow-headers", ", ".join([*ALLOWED, *of_sdks]).encode()),
            (b"access-control-max-age", _MAX_AGE.encode()),
        ]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    await send({"type": "http.response.body", "body": b""})


def _allowed_origin(scope: Scope) -> bytes:
    """The page's origin, if it is one of CORS_ALLOWED_ORIGINS; else nothing."""
    origin = _field(scope, b"origin")
    return origin if origin.decode("latin-1") in settings.CORS_ALLOWED_ORIGINS else b""


def _field(scope: Scope, name: bytes) -> bytes:
    return next((value for given, value in scope["headers"] if given == name), b"")
