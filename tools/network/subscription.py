"""A connection to Redis that hears what is published on channels, one to a process.

redis-py's own takes a message through a dozen coroutines, and every call ends with one. It makes the connection; from
then on its socket is read here. Redis is asked now and then whether it is there: a connection whose other side has
vanished is silent for ever.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, cast

import hiredis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import InvalidResponse, RedisError

from tools.network import redis

# How often Redis is asked, and after how many questions in a row without a word the connection is lost.
ASK_SECONDS = 2.0
MOST_UNANSWERED = 2
_BACK_OFF = 0.5
_PING = hiredis.pack_command(("PING",))
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
        self._transport.write(hiredis.pack_command(cast(Any, ("SUBSCRIBE", *channels))))
        self._unanswered = 0
        self._timer = asyncio.get_running_loop().call_later(ASK_SECONDS, self._ask)
        if self._transport.is_closing():
            self._end("it was closed")

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
        self._timer.cancel()
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take the messages that are whole."""
        self._unanswered = 0
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
        match said:
            case [b"message", channel, data]:
                self._heard.append((channel.decode(), data))
            case [b"subscribe", channel, _]:
                self._heard.append((channel.decode(), None))

    def _ask(self) -> None:
        if self._unanswered == MOST_UNANSWERED:
            self._end("Redis does not answer")
            return
        self._unanswered += 1
        self._transport.write(_PING)
        self._timer = asyncio.get_running_loop().call_later(ASK_SECONDS, self._ask)

    def _end(self, why: str) -> None:
        self._timer.cancel()
        self._lost = self._lost or ConnectionLost(f"the connection to Redis is lost: {why}")
        self._transport.abort()
        self._wake()

    def _wake(self) -> None:
        if self._waits is not None and not self._waits.done():
            self._waits.set_result(None)


async def listen(*channels: str) -> AsyncIterator[Heard]:
    """What is published on the channels, for ever: (channel, data).

    Data is None when the channel is subscribed to; so it is again after Redis went away and came back.
    """
    while True:
        heard: Subscription | None = None
        try:
            heard = Subscription(await redis.connection_of(redis.client()), *channels)
            while True:
                yield await heard.next()
        except redis.AWAY:
            await asyncio.sleep(_BACK_OFF)
        finally:
            if heard is not None:
                heard.close()
