"""One message to an MCP server, and what it answers: a JSON-RPC response, alone or at the end of a stream of events."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from services.credentials import hidden
from services.execution import answers
from services.mcp.errors import HttpFailed, Malformed, Rejected, SessionEnded
from services.mcp.events import Event, Events, TooLarge
from services.oauth import discovery
from tools.network import egress

# Of one message, and of all that one request may be answered with.
MAX_MESSAGE, MAX_STREAM = 2 * 1024 * 1024, 8 * 1024 * 1024
MAX_MESSAGES = 10_000
CONNECT_SECONDS = 10.0
# How often a stream that broke off is taken up again, and how long is waited before it where the server does not say.
RESUMED, PAUSE = 5, 1.0
_SAID = 600
_SESSION = "Mcp-Session-Id"

Message = dict[str, Any]
Hear = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Peer:
    """A server, as whom it is asked, and until when (of `time.monotonic()`)."""

    client: egress.Client
    url: str
    credential: Mapping[str, str] = field(repr=False)
    deadline: float

    def left(self) -> float:
        """Seconds until the deadline; raises TooSlow when there are none."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise egress.TooSlow("It did not answer in time.")
        return seconds

    def asking(self, method: str, headers: Mapping[str, str], data: bytes | None = None) -> Any:
        """One request to it; a context manager."""
        seconds = self.left()
        return self.client.exchange(
            method,
            self.url,
            data=data,
            headers={**headers, **self.credential},
            connect_seconds=min(CONNECT_SECONDS, seconds),
            seconds=seconds,
        )

    def read(self, data: bytes) -> Any:
        """The JSON in what it said, storable and without the credential. Raises Malformed."""
        try:
            value = answers.DECODER.decode(hidden(data.decode("utf-8", "replace"), self.credential))
        except (ValueError, RecursionError):
            raise Malformed("It answered something that is not JSON.") from None
        if answers.depth(value) > answers.MAX_DEPTH:
            raise Malformed(f"It answered JSON that is nested more than {answers.MAX_DEPTH} levels deep.")
        return answers.cleaned(value, self.credential)


@dataclass(frozen=True, slots=True)
class Reply:
    """A result, and the session that the server has opened with it ("": none)."""

    result: Message
    session: str = ""


async def ask(peer: Peer, message: Message, headers: Mapping[str, str], hear: Hear, *, resumes: bool) -> Reply:
    """The result of a request; `hear` gets what else comes on its stream.

    A stream that breaks off is taken up again where it `resumes`. Raises McpFailed and EgressFailed.
    """
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
    stream = _Stream(peer, message["id"], hear)
    async with peer.asking("POST", headers, _encoded(message)) as exchange:
        await _check(peer, exchange, session=_SESSION in headers)
        opened = _session(exchange)
        if not _is(exchange, "text/event-stream"):
            return Reply(_result(await _alone(peer, exchange, message["id"])), opened)
        response = await stream.read(exchange, patient=resumes)
    while response is None and resumes and stream.last is not None and stream.resumed < RESUMED:
        stream.resumed += 1
        await asyncio.sleep(min(stream.pause, peer.left()))
        again = {**headers, "Accept": "text/event-stream", "Last-Event-ID": stream.last}
        del again["Content-Type"]
        async with peer.asking("GET", again) as exchange:
            await _check(peer, exchange, session=_SESSION in headers)
            if not _is(exchange, "text/event-stream"):
                raise Malformed("Its stream broke off, and cannot be taken up again.")
            response = await stream.read(exchange, patient=True)
    if response is None:
        raise egress.Unanswered("Its stream ended without an answer.")
    return Reply(_result(response), opened)


async def tell(peer: Peer, message: Message, headers: Mapping[str, str]) -> None:
    """Send what has no answer: a notification, or our response. Raises McpFailed and EgressFailed."""
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
    async with peer.asking("POST", headers, _encoded(message)) as exchange:
        await _check(peer, exchange, session=_SESSION in headers)


class _Stream:
    """The events of one request, over as many streams as it takes."""

    def __init__(self, peer: Peer, asked: int, hear: Hear):
        self._peer, self._asked, self._hear = peer, asked, hear
        self._bytes, self._messages = 0, 0
        self.last: str | None = None
        self.pause, self.resumed = PAUSE, 0

    async def read(self, exchange: egress.Exchange, *, patient: bool) -> Message | None:
        """The response; None when the stream ended, or where that is waited out broke off, before it."""
        events = Events(MAX_MESSAGE)
        try:
            async for piece in exchange.chunks():
                self._bytes += len(piece)
                if self._bytes > MAX_STREAM:
                    raise TooLarge
                for event in events.feed(piece):
                    if (response := await self._take(event)) is not None:
                        return response
        except TooLarge:
            raise Malformed(f"It answered more than {MAX_MESSAGE:,} bytes.") from None
        except egress.Unanswered as broken:
            if not patient or self.last is None or isinstance(broken, egress.TooSlow):
                raise
        return None

    async def _take(self, event: Event) -> Message | None:
        self.last = event.id or self.last
        if event.retry is not None:
            self.pause = event.retry / 1000
        if not event.data:
            return None
        self._messages += 1
        if self._messages > MAX_MESSAGES:
            raise Malformed(f"It sent more than {MAX_MESSAGES:,} messages, and no answer.")
        message = self._peer.read(event.data.encode())
        if not isinstance(message, dict):
            raise Malformed("It answered something that is no JSON-RPC.")
        if "method" in message:
            await self._hear(message)
            return None
        return message if message.get("id") == self._asked else None


def _encoded(message: Message) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


async def _check(peer: Peer, exchange: egress.Exchange, *, session: bool) -> None:
    """Raise what an HTTP status of failure says."""
    if exchange.encoding:
        raise Malformed("It answered in a packed form that was not asked for, which is not unpacked.")
    if exchange.status < 300:
        return
    body = await exchange.beginning(answers.MAX_BYTES)
    error = _error(peer, body) if _is(exchange, "application/json") else None
    # The TypeScript SDK's examples say 400 to a session that they do not know.
    unknown = exchange.status == 400 and error is not None and error.code == -32000 and "session" in error.said.lower()
    if session and (exchange.status == 404 or unknown) and (error is None or error.code != -32601):
        raise SessionEnded("It does not know the session any more.")
    if error is not None and exchange.status not in (401, 403, 407):
        raise error
    said = answers.storable(" ".join(hidden(body.decode("utf-8", "replace"), peer.credential).split())[:_SAID])
    raise HttpFailed(exchange.status, said, discovery.missing_scope(exchange.status, exchange.headers))


def _error(peer: Peer, body: bytes) -> Rejected | None:
    try:
        message = peer.read(body)
    except Malformed:
        return None
    error = message.get("error") if isinstance(message, dict) else None
    if not isinstance(error, dict) or isinstance(error.get("code"), bool) or not isinstance(error.get("code"), int):
        return None
    return Rejected(error["code"], str(error.get("message", ""))[:_SAID], error.get("data"))


async def _alone(peer: Peer, exchange: egress.Exchange, asked: int) -> Message:
    """The response that is the whole answer."""
    if exchange.status == 202:
        raise Malformed("It took the request without answering it (HTTP 202).")
    if not _is(exchange, "application/json"):
        raise Malformed("It answered something that is neither JSON nor a stream of events.")
    body = await exchange.beginning(MAX_MESSAGE + 1)
    if len(body) > MAX_MESSAGE:
        raise Malformed(f"It answered more than {MAX_MESSAGE:,} bytes.")
    message = peer.read(body)
    if isinstance(message, list):
        # 2025-03-26 has batches.
        message = next((each for each in message if isinstance(each, dict) and each.get("id") == asked), None)
    if not isinstance(message, dict) or message.get("id", asked) not in (asked, None):
        raise Malformed("It answered something that is no response to what it was asked.")
    return message


def _result(response: Message) -> Message:
    error = response.get("error")
    if isinstance(error, dict):
        given = error.get("code")
        code = given if isinstance(given, int) and not isinstance(given, bool) else 0
        raise Rejected(code, str(error.get("message", ""))[:_SAID], error.get("data"))
    result = response.get("result")
    if not isinstance(result, dict):
        raise Malformed("It answered without a result.")
    return result


def _is(exchange: egress.Exchange, kind: str) -> bool:
    return exchange.headers.get("Content-Type", "").partition(";")[0].strip().lower() == kind


def _session(exchange: egress.Exchange) -> str:
    given = exchange.headers.get(_SESSION, "")
    if len(given) > 1024 or not given.isascii() or not given.isprintable():
        raise Malformed("It opened a session whose name is not printable ASCII.")
    return given
