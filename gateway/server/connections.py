"""uvicorn's HTTP/1.1 connection with limits on a request's head, and on its time until it is complete."""

import asyncio
import socket
from contextlib import suppress
from typing import Any, cast

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gateway.http import stopping
from gateway.server.unframed import unframed

# The least that a slow client must send each second, after the seconds that every body has.
LEAST_BYTES_PER_SECOND = 8 * 1024
# How much of a body is read and discarded after its answer, so that the connection can stay open.
MOST_IGNORED_BYTES = 256 * 1024
# How long a client that still sends may read the last answer, before its connection is closed.
LINGER_SECONDS = 2.0
# Once the time is up, how long what has come is still read. After a process stood still its timers run first.
GRACE_SECONDS = 0.05

_HEAD = b"HTTP/1.1 "

# Linux only.
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)


class _HeadTooLarge(Exception):
    """Ends the parsing of a head that exceeds its limits."""


class Connection(HttpToolsProtocol):
    """One client's connection; what exceeds a limit is answered (408, 431), and the connection closed.

    The limits are `TOOLGATE_MAX_HEADER_BYTES`, `_MAX_HEADERS`, `_HEADER_SECONDS` and `_BODY_SECONDS`.
    """

    url = b""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = self._in_body = self._begun = self._upgraded = False
        # Bytes of the current head: those parsed, and at most those read since the last complete line.
        self._head_bytes = self._unparsed_bytes = 0
        self._body_bytes = self._ignored_bytes = 0
        self._clock: asyncio.TimerHandle | None = None
        # Each header is held against them, and reading a setting costs more than that.
        self._most_head_bytes: int = settings.TOOLGATE_MAX_HEADER_BYTES
        self._most_headers: int = settings.TOOLGATE_MAX_HEADERS
        self._receiving_since = 0.0
        self._closing: _Lingering

    # --- the connection ----------------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request."""
        self._closing = _Lingering(transport, self)
        super().connection_made(cast(asyncio.Transport, self._closing))
        self._start_clock()

    def shutdown(self) -> None:
        """The process stops: tell streams that nothing else would end."""
        stopping.begun().set()
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits for the client that it has disconnected."""
        self._stop_clock()
        self._closing.ended()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what was received, and apply the limits."""
        if self._closing.is_closing():
            return
        self._begun = False
        super().data_received(data)
        if self._upgraded:
            return
        if self._in_head and not self._begun:
            self._unparsed_bytes += len(data)
            if self._unparsed_bytes > self._most_head_bytes:
                self._refuse(431)
        if self._closing.is_closing() or (self._answers and not self.receives):
            self._stop_clock()
        else:
            self._start_clock()
            if self.receives:
                self._acknowledge()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection to the WebSocket's protocol, which has time-outs of its own."""
        self._stop_clock()
        self._upgraded = True
        self._closing.flush()
        self.transport = self._closing.transport
        super().handle_websocket_upgrade()

    # --- the parser's callbacks --------------------------------------------------------------------------------------
    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head, self._in_body, self._begun = True, False, True
        self._head_bytes = self._unparsed_bytes = self._body_bytes = self._ignored_bytes = 0
        self._stop_clock()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A piece of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; trailers after a body are counted, but are no headers of the request."""
        self._count(len(name) + len(value) + 4)
        if len(self.headers) >= self._most_headers:
            raise _HeadTooLarge
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._in_head, self._in_body = False, True
        self._stop_clock()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body; when nobody will read it, only a limited amount is accepted."""
        self._body_bytes += len(body)
        if self.cycle is not None and self.cycle.response_complete:
            self._ignored_bytes += len(body)
            if self._ignored_bytes > MOST_IGNORED_BYTES:
                self.transport.close()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._in_head = self._in_body = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what could not be parsed, in the form of the requested API."""
        self._refuse(431 if self._too_large() else 400)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        old = cycle.scope["http_version"] == "1.0"
        super()._start_asgi_task(cycle, unframed(cycle, app) if old else app)

    # --- the limits --------------------------------------------------------------------------------------------------
    @property
    def receives(self) -> bool:
        """Whether more of a request is expected."""
        return self._in_head or self._in_body

    @property
    def _answers(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _count(self, size: int) -> None:
        self._head_bytes += size
        # What was counted before it was parsed is not counted twice.
        self._unparsed_bytes = 0
        if self._too_large():
            raise _HeadTooLarge

    def _too_large(self) -> bool:
        return self._head_bytes > self._most_head_bytes or len(self.headers or ()) >= self._most_headers

    def _acknowledge(self) -> None:
        """Acknowledge the first segments of a request at once, where the system can.

        A client with Nagle's algorithm sends the body once its head is acknowledged, which the kernel delays by 40 ms.
        """
        accepted = self.transport.get_extra_info("socket")
        if accepted is not None and _QUICK_ACK is not None:
            with suppress(OSError):
                accepted.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)

    def _start_clock(self) -> None:
        if self._clock is None:
            self._receiving_since = self.loop.time()
            seconds = settings.TOOLGATE_BODY_SECONDS if self._in_body else settings.TOOLGATE_HEADER_SECONDS
            self._clock = self.loop.call_later(seconds, self._time_is_up)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _time_is_up(self) -> None:
        self._clock = self.loop.call_later(GRACE_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._clock = None
        if self.transport.is_closing():
            return
        left = 0.0
        if self._in_body:
            earned = settings.TOOLGATE_BODY_SECONDS + self._body_bytes / LEAST_BYTES_PER_SECOND
            left = self._receiving_since + earned - self.loop.time()
        # No time-out while this side does not read, or answers the previous request.
        busy = self._answers and (self._in_head or self.flow.read_paused)
        if left > 0 or busy:
            self._clock = self.loop.call_later(max(left, 1.0), self._time_is_up)
        elif self.receives:
            self._refuse(408)
        else:
            # Not one byte of a request was received: nobody waits for an answer.
            self.transport.close()

    def _refuse(self, status: int) -> None:
        """Answer unless an answer has begun, tell the application that its client has disconnected, and close."""
        # Loaded late: only the application sets Django up, and it is loaded by now.
        from gateway.server import refusals

        unanswered = not self.cycle.response_started if self._in_body else not self._answers
        if self._answers:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if unanswered:
            self.transport.write(refusals.raw(status, self.url, self.headers or []))
        self._stop_clock()
        self._closing.linger()


class _Lingering:
    """A transport whose `close` lets a client that still sends read its last answer first.

    Closing a socket with unread bytes resets the connection, and the answer may be lost. A head waits for the body that
    is written after it, but not beyond the event loop's turn: the two go out in one segment.
    """

    def __init__(self, transport: asyncio.Transport, connection: Connection) -> None:
        self.transport, self._connection = transport, connection
        self._end: asyncio.TimerHandle | None = None
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)

    def write(self, data: bytes) -> None:
        """Send, unless the last answer was sent."""
        if self._end is not None:
            return
        if data.startswith(_HEAD) and not self._head:
            self._head = data
            self._connection.loop.call_soon(self.flush)
        else:
            data, self._head = self._head + data, b""
            self.transport.write(data)

    def flush(self) -> None:
        """Send a head whose body is still to come."""
        head, self._head = self._head, b""
        if head:
            self.transport.write(head)

    def is_closing(self) -> bool:
        """Whether this side has sent its last answer."""
        return self._end is not None or self.transport.is_closing()

    def close(self) -> None:
        """Send what is buffered, and close."""
        self.flush()
        if self._connection.receives:
            self.linger()
        elif self._end is None:
            self.transport.close()

    def linger(self) -> None:
        """Announce the end, discard what is received, and close after LINGER_SECONDS at the latest."""
        if self._end is not None or self.transport.is_closing():
            return
        self.flush()
        self._end = self._connection.loop.call_later(LINGER_SECONDS, self.transport.abort)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._connection.flow.resume_reading()

    def ended(self) -> None:
        """The connection has ended."""
        if self._end is not None:
            self._end.cancel()
