"""Serves the compatible APIs under /v1: one path through authentication, a run, and an answer, whatever the dialect.

A bare ASGI callable, like `gateway.rest.chat.fast`, over the same services and by the rules of `gateway.http`. 409 is
never answered here, and an error after a managed call has run carries `x-should-retry: false`: the vendors' SDKs try
again by themselves, and would act twice.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn

import orjson

from gateway.compat import approval_responses, media, replies
from gateway.compat.interface import CompatApi, StreamWriter
from gateway.compat.vendor_errors import MAX_BODY_BYTES, TooLarge, Unauthenticated, VendorForm
from gateway.http import asgi, authentication, bodies, request_limits
from gateway.http.asgi import Answer, Headers, Receive, Request, Scope, Send
from gateway.http.bodies import ClientGone
from gateway.http.errors import InvalidKey
from gateway.providers.interface import UserMessage
from gateway.rest.chat.answers import KEEP_ALIVE_SECONDS, PROVIDER_RETRY_SECONDS, STREAM_HEADERS
from gateway.runs.errors import Leaving
from gateway.runs.lifecycle import beginning, following, stopping
from gateway.runs.preparation import ChatRequest
from gateway.runs.prompting.client_request import BadRequest, ClientRequest
from gateway.runs.view import RunView, call_body
from tenants.limits.streams import STREAMS
from tenants.people.principal import Principal
from tenants.scope.transactions import TenantScope

MAX_KEY_CHARACTERS = 255
# How long a stream's first event is waited for, so that an early failure is an HTTP error and not one in the stream.
PATIENCE_SECONDS = KEEP_ALIVE_SECONDS
EVENT_STREAM = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request on its way through: whose it is, and over which API."""

    api: CompatApi
    principal: Principal
    request: Request

    @property
    def tenant_scope(self) -> TenantScope:
        """The tenant scope of its run."""
        return TenantScope(self.principal.tenant_id, self.principal.user_id)


async def answer(api: CompatApi, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request to an API's main address."""

    async def handle(request: Request) -> None:
        principal = await _remembered(request.headers)
        await request_limits.admit(principal)
        given = await read(request)
        if api.family == "anthropic" and "anthropic-beta" in request.headers:
            # A part of the request, though it comes as a header.
            given["betas"] = [beta.strip() for beta in request.headers["anthropic-beta"].split(",") if beta.strip()]
        parsed = media.checked(api.parse(given))
        if parsed.approvals or parsed.previous is not None:
            # Something is done or read before the run begins, and with it what is remembered is looked at.
            principal = await authenticated(request.headers)
        await _answer(Exchange(api, principal, request), parsed, given)

    await asgi.serve(VendorForm(api.error), scope, receive, send, handle)


async def authenticated(headers: Headers, needs: str = "chat") -> Principal:
    """The member whose key this is; `x-api-key` counts as well as a bearer. Raises Unauthenticated or MissingScope."""
    try:
        return await authentication.authenticated(headers, needs, key_headers=("x-api-key",))
    except InvalidKey:
        raise Unauthenticated from None


async def _remembered(headers: Headers, *, anew: bool = False) -> Principal:
    """The same, perhaps by what this process remembers; see `gateway.http.authentication.remembered`."""
    try:
        return await authentication.remembered(headers, "chat", key_headers=("x-api-key",), anew=anew)
    except InvalidKey:
        raise Unauthenticated from None


async def read(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request. Raises TooLarge, BadRequest, ClientGone."""
    return bodies.json_object(await request.body(MAX_BODY_BYTES, TooLarge), BadRequest)


async def _answer(exchange: Exchange, request: ClientRequest, given: dict[str, Any]) -> None:
    with STREAMS.open(exchange.principal) if request.stream else nullcontext():
        await _begun(exchange, request, given)


async def _begun(exchange: Exchange, request: ClientRequest, given: dict[str, Any]) -> None:
    await approval_responses.act(exchange.principal, request)
    created = int(time.time())
    headers = exchange.request.headers
    view = await beginning.begin(
        exchange.principal, _chat(exchange, request, given), lambda: _remembered(headers, anew=True)
    )
    if request.stream:
        await _stream(exchange, request, view, created)
        return
    try:
        await _until_rest(exchange, view)
    except asyncio.CancelledError:
        raise Leaving from None
    if view.run.status in ("failed", "cancelled"):
        await _failed(exchange, view)
        return
    body = exchange.api.body(replies.reply(view, request, created))
    await exchange.request.answer(Answer(200, body))


def _chat(exchange: Exchange, request: ClientRequest, given: dict[str, Any]) -> ChatRequest:
    key = exchange.request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= MAX_KEY_CHARACTERS and key.isprintable() and key.isascii()):
        raise BadRequest(f"Idempotency-Key must be 1 to {MAX_KEY_CHARACTERS} printable ASCII characters.")
    named = names_model(request)
    said = next((each.text for each in reversed(request.messages) if isinstance(each, UserMessage)), "")
    asked = {name: value for name, value in given.items() if name != "stream"}
    return ChatRequest(
        content=said.replace("\x00", "\ufffd")[:100_000],
        agent=None if named else request.model,
        model=request.model if named else None,
        streams=request.stream,
        idempotency_key=key,
        request_hash=hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).digest() if key else None,
        surface=exchange.api.name,
        client=request,
    )


def names_model(request: ClientRequest) -> bool:
    """Whether the request names a provider's model, and not an agent. Raises BadRequest for what can be neither."""
    if not 0 < len(request.model) <= 200 or not request.model.isprintable():
        raise BadRequest("model must be 1 to 200 printable characters.", "model")
    return "/" in request.model


async def _until_rest(exchange: Exchange, view: RunView) -> None:
    """Wait for the run, watching whether the client is still there."""
    gone = asyncio.create_task(exchange.request.hung_up())
    try:
        if not await following.until_rest(exchange.tenant_scope, view, gone=gone):
            await _leave(exchange, view)
    finally:
        gone.cancel()


async def _beside_the_client(exchange: Exchange, view: RunView, work: "asyncio.Task[None]") -> None:
    """Finish the work unless the client hangs up first."""
    gone = asyncio.create_task(exchange.request.hung_up())
    try:
        await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            await work
            return
        await _leave(exchange, view)
    finally:
        gone.cancel()
        work.cancel()


async def _leave(exchange: Exchange, view: RunView) -> NoReturn:
    """The client has hung up; what becomes of the run is its agent's affair."""
    if view.run.profile.get("on_disconnect") == "cancel":
        await stopping.cancel(exchange.tenant_scope, view.id)
    raise ClientGone


async def _failed(exchange: Exchange, view: RunView) -> None:
    status, code, message = _error(view)
    more: Headers = {}
    if status == 429:
        more["retry-after"] = str(PROVIDER_RETRY_SECONDS)
    if _acted(view):
        more["x-should-retry"] = "false"
    body = exchange.api.error(status, code, message)
    await exchange.request.answer(Answer(status, body, more))


def _error(view: RunView) -> tuple[int, str, str]:
    run = view.run
    if run.status == "cancelled":
        return 400, run.error_code or "cancelled", run.error_message or "The run was cancelled."
    return run.error_status or 500, run.error_code or "internal_error", run.error_message or ""


def _acted(view: RunView) -> bool:
    """Whether a managed call of the run has begun, so that asking again could act twice."""
    return any(call.started_at is not None for turn in view.turns for call in turn.calls)


# --- streaming -------------------------------------------------------------------------------------------------------
async def _stream(exchange: Exchange, request: ClientRequest, view: RunView, created: int) -> None:
    """Send the run as it goes; a failure before anything was shown is an HTTP error like any other."""
    writer = exchange.api.writer(id=view.id.hex, created=created, model=request.model, request=request)
    await _something_to_show(exchange, view)
    if view.run.status == "failed" and not _shown(view):
        await _failed(exchange, view)
        return

    events = _events(exchange, writer, view, request, created)
    sending = exchange.request.stream(events, EVENT_STREAM, STREAM_HEADERS)
    await _beside_the_client(exchange, view, asyncio.create_task(sending))


async def _something_to_show(exchange: Exchange, view: RunView) -> None:
    async with following.watching(exchange.tenant_scope, view) as changed:
        end = time.monotonic() + PATIENCE_SECONDS
        while not (view.final or view.suspended or _shown(view)) and (left := end - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(left):
                    await changed.wait()
            except TimeoutError:
                return
            changed.clear()


def _shown(view: RunView) -> bool:
    return any(turn.length or turn.heard or turn.opaque for turn in view.turns)


async def _events(
    exchange: Exchange, writer: StreamWriter, view: RunView, request: ClientRequest, created: int
) -> AsyncGenerator[bytes, None]:
    yield writer.begin()
    sent = _Sent(writer)
    async with following.watching(exchange.tenant_scope, view) as changed:
        while True:
            changed.clear()
            if piece := sent.new(view):
                yield piece
            if view.run.status in ("failed", "cancelled"):
                # More may have come while the client took the piece; `end` looks for that itself.
                yield sent.new(view) + writer.error(*_error(view))
                return
            if view.final or view.suspended:
                yield writer.end(replies.reply(view, request, created))
                return
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    await changed.wait()
            except TimeoutError:
                yield writer.keep_alive()


class _Sent:
    """How much of a run a stream has shown: text and opaque parts by turn, and settled calls."""

    def __init__(self, writer: StreamWriter):
        self._writer = writer
        self._text: dict[int, int] = {}
        self._opaque: dict[int, int] = {}
        self._calls: set[Any] = set()

    def new(self, view: RunView) -> bytes:
        """What has come since the last time."""
        pieces: list[bytes] = []
        for turn in view.turns:
            for part in turn.opaque[self._opaque.get(turn.number, 0) :]:
                pieces.append(self._writer.opaque(turn.number, part))
                self._opaque[turn.number] = self._opaque.get(turn.number, 0) + 1
            if text := turn.after(self._text.get(turn.number, 0)):
                pieces.append(self._writer.text(turn.number, text))
                self._text[turn.number] = turn.length
            for call in turn.calls:
                if call.final and call.id not in self._calls:
                    self._calls.add(call.id)
                    pieces.append(self._writer.call(turn.number, call_body(call)))
        return b"".join(pieces)
