"""Answers requests to `/mcp`: who asks, from where, and what they send is checked before the SDK sees the message."""

import asyncio
import secrets
from collections.abc import MutableMapping
from functools import partial
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from gateway.http import asgi, authentication
from gateway.http.asgi import SECURITY, Answer, Headers, Receive, Request, Scope, Send
from gateway.http.errors import InvalidKey
from gateway.mcp import exchange, inflight, messages
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
from gateway.mcp.process import process
from gateway.runs.errors import Leaving
from tenants.people.principal import Principal

PATHS = frozenset({PATH, f"{PATH}/"})
# The name that a client of the revisions with `initialize` gets there and repeats. Nothing is stored under it: it only
# tells two clients with the same key apart.
SESSION, SESSION_CHARACTERS = "mcp-session-id", 100
METADATA_PATHS = frozenset({METADATA_PATH, METADATA_PATH.removesuffix(PATH)})
# What a key needs for a method; others, such as initialize and ping, any valid key may use.
SCOPES = {
    **dict.fromkeys(("tools/list", "prompts/list", "resources/list", "resources/templates/list"), "tools:read"),
    **dict.fromkeys(("prompts/get", "resources/read"), "tools:read"),
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
    """What protects `/mcp`, as RFC 9728 has it; there is no authorization server, so keys come from people."""
    content = {
        "resource": f"{settings.PUBLIC_URL}{PATH}",
        "resource_name": "Toolgate",
        "bearer_methods_supported": ["header"],
        "scopes_supported": sorted(set(SCOPES.values())),
        "resource_documentation": f"{settings.PUBLIC_URL}/api/docs/",
        "toolgate_keys": "There is no authorization server: send an API key of Toolgate as bearer. "
        "The operator makes one with `manage.py create_api_key`.",
    }
    await request.answer(Answer(200, content))


async def _message(form: McpForm, scope: Scope, receive: Receive, send: Send, request: Request) -> None:
    if scope["method"] != "POST":
        raise NotPosted(scope["method"])
    _check_sender(request.headers)
    principal = await _authenticated(request.headers)
    body = await request.body(settings.TOOLGATE_MAX_BODY_BYTES, TooLarge)
    message = messages.read(body)
    form.request_id = message.id
    needed = SCOPES.get(message.method)
    if needed is not None and needed not in principal.scopes:
        raise OutOfScope(message.method, needed)
    under_way = Exchange(principal, request.headers.get(SESSION, "")[:SESSION_CHARACTERS])
    if message.method == "notifications/cancelled":
        await inflight.cancel(under_way, message.params.get("requestId"))
    manager = await process().manager()
    # Spaces around a header's value are none of it, and the SDK compares values.
    headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
    passed_on = {**scope, "path": PATH, "headers": headers, exchange.KEY: under_way}
    headings = {b"mcp-session-id": secrets.token_urlsafe(24).encode()} if message.method == "initialize" else {}
    sending = _signing(request, send, headings)
    try:
        await manager.handle_request(passed_on, _Body(body, receive, under_way).receive, sending)
    except asyncio.CancelledError:
        if under_way.gone:
            raise
        # This process ends; its calls go on, and are in the history.
        raise Leaving from None


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


def _signing(request: Request, send: Send, more: dict[bytes, bytes]) -> Send:
    """`send`, with the headers that every answer carries, and `more`."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            request.started = True
            given = {name.lower(): value for name, value in message.get("headers", ())}
            standard = {b"x-request-id": request.identity.encode()}
            standard |= {name.encode(): value.encode() for name, value in SECURITY.items()}
            message = {**message, "headers": list((standard | more | given).items())}
        await send(message)

    return sending
