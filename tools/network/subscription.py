"""A connection to Redis that hears what is published on channels, one to a process.

redis-py's own takes a message through a dozen coroutines, and every call ends with one. It makes the connection; from
then on its socket is read here.
"""

import asyncio
from collections import deque
from typing import Any, cast

import hiredis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import InvalidResponse, RedisError

_NOT_WHOLE = object()
# A channel, and what was published on it; None when it is subscribed to.
Heard = tuple[str, bytes | None]


class Subscription(asyncio.Protocol):
    """What comes over an open connection of redis-py's, which is not its own any more, from its SUBSCRIBE on."""

    def __init__(self, connection: AbstractConnection, *channels: str):
        self._heard: deque[Heard] = deque()
        self._lost: RedisError | None = None
        self._waits: asyncio.Future[None] | None = None
        self._reader = hiredis.Reader(protocolError=InvalidResponse, notEnoughData=_NOT_WHOLE)
        self._writer, connection._writer, connection._reader = cast(Any, connection)._writer, None, None
        self._transport: asyncio.Transport = self._writer.transport
        self._transport.set_protocol(self)
        if self._transport.is_closing():
            self._end("it was closed")
        self._transport.write(hiredis.pack_command(cast(Any, ("SUBSCRIBE", *channels))))

    async def next(self) -> Heard:
        """What was heard next. Raises ConnectionLost once nothing more is."""
        while not self._heard:
            if self._lost is not None:
                raise self._lost
            self._waits = asyncio.get_running_loop().create_future()
            await self._waits
        return self._heard.popleft()

    def close(self) -> None:
        """Hear nothing more."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take the messages that are whole."""
        try:
            self._reader.feed(data)
            while (said := self._reader.gets()) is not _NOT_WHOLE:
                self._take(said)
        except (RedisError, IndexError, ValueError) as garbled:
            self._end(f"it cannot be understood: {garbled}")
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """Nothing more is heard."""
        self._end(str(error or "it was closed"))

    def _take(self, said: Any) -> None:
        if isinstance(said, Exception):
            raise InvalidResponse(str(said))
        kind, channel, data = said
        if kind in (b"message", b"subscribe"):
            self._heard.append((channel.decode(), data if kind == b"message" else None))

    def _end(self, why: str) -> None:
        self._lost = self._lost or ConnectionLost(f"the connection to Redis is lost: {why}")
        self._transport.abort()
        self._wake()

    def _wake(self) -> None:
        if self._waits is not None and not self._waits.done():
            self._waits.set_result(None)
