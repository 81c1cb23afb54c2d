"""Answers requests to `/mcp`: who asks, from where, and what they send is checked before the SDK sees the message."""

import asyncio
from collections.abc import MutableMapping
from functools import partial
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from gateway.http import asgi, asking, authentication, request_limits
from gateway.http.asgi import SECURITY, Answer, Headers, Receive, Request, Scope, Send
from gateway.http.errors import InvalidKey
from gateway.mcp import exchange, messages
from gateway.mcp.asking import responses, sessions
from gateway.mcp.calls import inflight
from gateway.mcp.errors import (
    METADATA_PATH,
    PATH,
    McpForm,
    NotPosted,
    OutOfScope,
    TooLarge,
    Unauthenticated,
    WrongHost,
    WrongOrigin,
)
from gateway.mcp.exchange import Exchange
from gateway.mcp.notifications import streams
from gateway.mcp.process import process
from gateway.runs.errors import Leaving
from tenants.login import authentication as login
from tenants.login.clients import ACCESS
from tenants.people.principal import Principal
from tenants.scope.transactions import TenantScope

PATHS = frozenset({PATH, f"{PATH}/"})
# The name that a client of the revisions with `initialize` gets there and repeats. Nothing is stored under it: it only
# tells two clients with the same key apart.
SESSION, SESSION_CHARACTERS = "mcp-session-id", 100
METADATA_PATHS = frozenset({METADATA_PATH, METADATA_PATH.removesuffix(PATH)})
# What a key or token needs for a method; others, such as initialize and ping, any valid one may use.
SCOPES = {
    **dict.fromkeys(("tools/list", "prompts/list", "resources/list", "resources/templates/list"), "tools:read"),
    **dict.fromkeys(("prompts/get", "resources/read", "completion/complete"), "tools:read"),
    **dict.fromkeys(("resources/subscribe", "resources/unsubscribe", "subscriptions/listen"), "tools:read"),
    **dict.fromkeys(("tools/call", "tasks/get", "tasks/result", "tasks/list", "tasks/update", "tasks/cancel"), "chat"),
}


def takes(scope: Scope) -> bool:
    """Whether the request is one for `answer`."""
    return scope["path"] in PATHS or scope["path"] in METADATA_PATHS


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request."""
    form = McpForm()
    handler = _metadata if scope["path"] in METADATA_PATHS else partial(_message, form, scope, receive, send)
    await asgi.serve(form, scope, receive, send, handler)


def prepare() -> None:
    """Begin to make what the process has for `/mcp`, so that its first client does not wait for that."""
    process().prepare()


async def close() -> None:
    """End what the process has for `/mcp`; calls go on without their clients."""
    await process().close()


async def _metadata(request: Request) -> None:
    """What protects `/mcp`, as RFC 9728 has it."""
    content = {
        "resource": settings.OAUTH_RESOURCE,
        "authorization_servers": [settings.PUBLIC_URL],
        "resource_name": "Toolgate",
        "bearer_methods_supported": ["header"],
        "scopes_supported": sorted(set(SCOPES.values())),
        "resource_documentation": f"{settings.PUBLIC_URL}/api/docs/",
        "toolgate_keys": "An API key of Toolgate (`tg_…`) is a bearer too; whoever has one needs no OAuth.",
    }
    await request.answer(Answer(200, content))


async def _message(form: McpForm, scope: Scope, receive: Receive, send: Send, request: Request) -> None:
    session = request.headers.get(SESSION, "")[:SESSION_CHARACTERS]
    listens = scope["method"] == "GET" and session and streams.EVENT_STREAM in request.headers.get("accept", "")
    if scope["method"] != "POST" and not listens:
        raise NotPosted(scope["method"])
    _check_sender(request.headers)
    still_valid = partial(_authenticated, request.headers)
    principal = await still_valid()
    if listens:
        if "tools:read" not in principal.scopes:
            raise OutOfScope("A standing stream", "tools:read")
        await streams.serve(request, Exchange(principal, session, still_valid))
        return
    body = await request.body(settings.TOOLGATE_MAX_BODY_BYTES, TooLarge)
    message = messages.read(body)
    form.request_id = message.id
    await request_limits.admit(principal, changes=message.method in ("", "tools/call"))
    if not message.method:
        await _answered(principal, message, request)
        return
    needed = SCOPES.get(message.method)
    if needed is not None and needed not in principal.scopes:
        raise OutOfScope(message.method, needed)
    under_way = Exchange(principal, session, still_valid)
    if message.method == "notifications/cancelled":
        await inflight.cancel(under_way, message.params.get("requestId"))
    manager = await process().manager()
    try:
        async with under_way.after:
            if not await manager.answered(request, scope["headers"], message, under_way):
                await _handled(manager, scope, _Body(body, receive, under_way), send, request, message, under_way)
    except asyncio.CancelledError:
        if under_way.gone:
            raise
        # This process ends; its calls go on, and are in the history.
        raise Leaving from None


async def _handled(
    manager: Any,
    scope: Scope,
    body: "_Body",
    send: Send,
    request: Request,
    message: messages.Message,
    under_way: Exchange,
) -> None:
    """Have the SDK handle a message."""
    # Spaces around a header's value are none of it, and the SDK compares values.
    headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
    passed_on = {**scope, "path": PATH, "headers": headers, exchange.KEY: under_way}
    headings = {b"mcp-session-id": sessions.new(message.params)} if message.method == "initialize" else {}
    await manager.handle_request(passed_on, body.receive, _signing(request, send, headings, under_way))


async def _answered(principal: Principal, message: messages.Message, request: Request) -> None:
    """Take what a client answers to a request that its call's stream had: the request's id is a question's."""
    if "chat" not in principal.scopes:
        raise OutOfScope("an answer", "chat")
    await responses.take(TenantScope(principal.tenant_id, principal.user_id), message)
    await request.answer(Answer(202, None))


def _check_sender(headers: Headers) -> None:
    """Refuse what a page made a browser send here, under whatever name its author gave to this machine.

    Raises WrongHost, WrongOrigin.
    """
    host, origin = headers.get("host", "").lower(), headers.get("origin", "").lower()
    domain, _ = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        raise WrongHost
    ours = (*settings.CORS_ALLOWED_ORIGINS, f"http://{host}", f"https://{host}")
    if origin and origin not in ours:
        raise WrongOrigin


async def _authenticated(headers: Headers) -> Principal:
    token = login.bearer(headers.get("authorization", "")) or ""
    if token.startswith(ACCESS):
        principal = await login.by_token(token, settings.OAUTH_RESOURCE)
        if principal is None:
            raise Unauthenticated(invalid_token=True)
        asking.remember(principal)
        return principal
    try:
        return await authentication.identified(headers)
    except InvalidKey:
        raise Unauthenticated from None


class _Body:
    """The body that was read, once more for the SDK; after it, whether the client hangs up."""

    def __init__(self, body: bytes, receive: Receive, under_way: Exchange):
        self._body: bytes | None = body
        self._receive = receive
        self._exchange = under_way

    async def receive(self) -> MutableMapping[str, Any]:
        """The next ASGI message."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._exchange.gone = True
        return message


def _signing(request: Request, send: Send, more: dict[bytes, bytes], under_way: Exchange) -> Send:
    """`send`, with the headers that every answer carries, and `more`; a stream of events is made known."""

    async def write(body: bytes) -> None:
        await send({"type": "http.response.body", "body": body, "more_body": True})

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            request.started = True
            given = {name.lower(): value for name, value in message.get("headers", ())}
            standard = {b"x-request-id": request.identity.encode()}
            standard |= {name.encode(): value.encode() for name, value in SECURITY.items()}
            message = {**message, "headers": list((standard | more | given).items())}
            await send(message)
            if given.get(b"content-type", b"").startswith(b"text/event-stream"):
                under_way.write = write
                under_way.streams.set()
            return
        await send(message)

    return sending
