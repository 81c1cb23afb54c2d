"""`POST /api/v1/chat` with a bearer key, without Django's request cycle: the same service at a fraction of the cost.

Anything else about a request (a session, an Origin, another method) goes to
Django, whose `ChatView` answers the same.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import orjson
import psycopg
import structlog

from gateway.process.request_ids import request_id
from gateway.rest.chat import answers, parsing
from gateway.rest.framework import problems
from gateway.runs import lifecycle
from gateway.runs.errors import Leaving
from gateway.runs.watching import events
from tenants.errors import Refused
from tenants.login.authentication import bearer, by_key
from tenants.scope.transactions import TenantScope

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

PATH = "/api/v1/chat"
_KEPT = {b"authorization", b"accept", b"idempotency-key", b"x-request-id", b"content-length"}
_SECURITY = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


class ClientGone(Exception):
    """The client hung up before its request was whole."""


def takes(scope: Scope) -> bool:
    """Whether the request is one that `chat` answers."""
    if scope["path"] != PATH or scope["method"] != "POST":
        return False
    names = {name for name, _ in scope["headers"]}
    return b"authorization" in names and b"origin" not in names and b"transfer-encoding" not in names


async def chat(scope: Scope, receive: Receive, send: Send) -> None:
    """Authenticate, parse, one service call, serialise."""
    headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _KEPT}
    identity = request_id(headers.get("x-request-id", ""))
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=identity)
    try:
        await _chat(headers, receive, send, identity)
    except ClientGone:
        return
    except Refused as refusal:
        await _problem(send, identity, refusal.status, problems.refused(refusal))
    except psycopg.OperationalError as away:
        unavailable = problems.unavailable(away)
        retry = [(b"retry-after", str(unavailable.retry_after).encode())]
        await _problem(send, identity, unavailable.status, problems.refused(unavailable), retry)
    except Exception:
        log.exception("request failed")
        await _problem(send, identity, 500, problems.problem(500, "internal_error", problems.FAILED))


async def _chat(headers: dict[str, str], receive: Receive, send: Send, identity: str) -> None:
    principal = await by_key(bearer(headers["authorization"]) or "")
    if principal is None:
        detail = "The API key is not valid: unknown, revoked or expired."
        challenge = [(b"www-authenticate", b'Bearer realm="toolgate"')]
        await _problem(send, identity, 401, problems.problem(401, "unauthenticated", detail), challenge)
        return
    if "chat" not in principal.scopes:
        detail = "This needs the scope chat."
        await _problem(send, identity, 403, problems.problem(403, "forbidden", detail))
        return
    parsed = parsing.chat(await _body(headers, receive), headers)
    run = await lifecycle.begin(principal, parsed.request)
    tenant_scope = TenantScope(principal.tenant_id, principal.user_id)
    if parsed.request.streams:
        await _stream(send, identity, answers.stream(tenant_scope, run, events.START, parsed.wait))
        return
    try:
        await lifecycle.until_rest(tenant_scope, run, parsed.wait)
    except asyncio.CancelledError:
        # This process ends; the run goes on in another, and the idempotency key finds it there.
        raise Leaving from None
    status, body, more = answers.whole(run)
    kind = b"application/json" if status < 400 else problems.CONTENT_TYPE.encode()
    extra = [(name.lower().encode(), value.encode()) for name, value in more.items()]
    await _answer(send, identity, status, kind, orjson.dumps(body), extra)


async def _body(headers: dict[str, str], receive: Receive) -> bytes:
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > parsing.MAX_BODY_BYTES:
        raise parsing.too_large()
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > parsing.MAX_BODY_BYTES:
            raise parsing.too_large()
        if not message.get("more_body"):
            return b"".join(pieces)


async def _problem(
    send: Send, identity: str, status: int, body: dict[str, Any], more: list[tuple[bytes, bytes]] | None = None
) -> None:
    await _answer(send, identity, status, problems.CONTENT_TYPE.encode(), orjson.dumps(body), more or [])


async def _answer(
    send: Send, identity: str, status: int, kind: bytes, body: bytes, more: list[tuple[bytes, bytes]]
) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", identity.encode()),
        *_SECURITY,
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _stream(send: Send, identity: str, content: Any) -> None:
    headers = [
        (b"content-type", parsing.EVENT_STREAM.encode()),
        (b"x-request-id", identity.encode()),
        *((name.lower().encode(), value.encode()) for name, value in answers.STREAM_HEADERS.items()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    try:
        async for piece in content:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    finally:
        await content.aclose()
    await send({"type": "http.response.body", "body": b""})
