"""A TCP proxy in front of PostgreSQL that counts round trips: how often a client waited for an answer and went on."""

import asyncio
import threading
from types import TracebackType
from typing import Self, cast
from urllib.parse import urlsplit, urlunsplit

import uvloop

_FLUSH = b"H\x00\x00\x00\x04"


class CountingProxy:
    """`with CountingProxy(port) as proxy`: forwards what comes to `proxy.port`; `trips` are those of all connections.

    Whatever a client sends until PostgreSQL answers is one trip, however many statements or segments it is. A lone
    Flush is none: libpq sends it while it collects what it has asked for already, before or after the answer came.
    """

    def __init__(self, upstream: int) -> None:
        self.trips = 0
        self.port = 0
        self._upstream = upstream
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        listening = asyncio.run_coroutine_threadsafe(self._listen(), self._loop)
        self.port = listening.result(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def in_front_of(self, url: str) -> str:
        """The database's URL by way of this proxy."""
        parts = urlsplit(url)
        login = parts.netloc.rpartition("@")[0]
        return urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{self.port}"))

    async def _listen(self) -> int:
        server = await self._loop.create_server(lambda: _Client(self), "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    def connect(self, client: "_Client") -> None:
        """Open the client's connection to PostgreSQL."""

        async def connected() -> None:
            await self._loop.create_connection(lambda: _Server(client), "127.0.0.1", self._upstream)

        self._loop.create_task(connected())


class _Client(asyncio.Protocol):
    """A client's side of a connection."""

    def __init__(self, proxy: CountingProxy) -> None:
        self._proxy = proxy
        self._early: list[bytes] = []
        self.server: asyncio.Transport | None = None
        self.answered = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._proxy.connect(self)

    def data_received(self, data: bytes) -> None:
        if self.answered and data != _FLUSH:
            self.answered = False
            self._proxy.trips += 1
        if self.server is None:
            self._early.append(data)
        else:
            self.server.write(data)

    def connected(self, server: asyncio.Transport) -> None:
        self.server = server
        if self._early:
            server.write(b"".join(self._early))

    def connection_lost(self, error: Exception | None) -> None:
        if self.server is not None:
            self.server.close()


class _Server(asyncio.Protocol):
    """PostgreSQL's side of it."""

    def __init__(self, client: _Client) -> None:
        self._client = client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._client.connected(cast(asyncio.Transport, transport))

    def data_received(self, data: bytes) -> None:
        self._client.answered = True
        self._client.transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._client.transport.close()
