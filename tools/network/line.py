"""A connection to Redis that many share: commands leave as they come, and are answered in their order.

A client of redis-py takes a connection for each command, waits on it, and looks at it before and after. That costs
several times what the command itself does. Here those who ask at a time are written in one piece, and nobody waits
to write. redis-py makes the connection (address, TLS, password); from then on its socket is read by `_Answers`.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, cast

import hiredis
from redis._parsers.base import BaseParser
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import InvalidResponse, RedisError
from redis.exceptions import TimeoutError as AnsweredTooLate

Word = str | bytes | int | float
_NOT_WHOLE = object()
_GRACE_SECONDS = 0.05


class Line:
    """Commands on one connection, which is made when there is none, in one event loop.

    `connect` makes an open connection; a command gives up after `seconds`, and with it all that wait on the connection.
    """

    def __init__(self, connect: Callable[[], Awaitable[AbstractConnection]], seconds: float):
        self._connect, self._seconds = connect, seconds
        self._answers: _Answers | None = None
        self._connecting: asyncio.Task[_Answers] | None = None

    async def ask(self, *words: Word) -> Any:
        """The answer to a command. One whose connection broke is sent once more, on a new one.

        Raises RedisError: ResponseError when Redis refuses it, another when it was not carried out, or perhaps not.
        """
        packed = hiredis.pack_command(cast(Any, words))
        try:
            return await (await self._open()).ask(packed, self._seconds)
        except ConnectionLost:
            return await (await self._open()).ask(packed, self._seconds)

    def close(self) -> None:
        """Close the connection; the next command makes another."""
        if self._connecting is not None:
            self._connecting.cancel()
        if self._answers is not None:
            self._answers.close()

    async def _open(self) -> "_Answers":
        if self._answers is not None and self._answers.lost is None:
            return self._answers
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connected())
            self._connecting.add_done_callback(_noticed)
        # Whoever is cancelled leaves it to the others.
        return await asyncio.shield(self._connecting)

    async def _connected(self) -> "_Answers":
        try:
            self._answers = _Answers(await self._connect())
            return self._answers
        finally:
            self._connecting = None


class _Answers(asyncio.Protocol):
    """What Redis answers on a connection, to whom."""

    def __init__(self, connection: AbstractConnection):
        # Why the connection is of no use any more.
        self.lost: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._asked: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._late: asyncio.Future[Any] | None = None
        self._reader = hiredis.Reader(protocolError=InvalidResponse, replyError=_refusal, notEnoughData=_NOT_WHOLE)
        self._timer: asyncio.TimerHandle | None = None
        # From here on the connection is not redis-py's any more, which would close it with its own object.
        self._writer, connection._writer, connection._reader = cast(Any, connection)._writer, None, None
        self._transport: asyncio.Transport = self._writer.transport
        self._transport.set_protocol(self)
        if self._transport.is_closing():
            self._end(ConnectionLost("the connection closed"))

    def ask(self, packed: bytes, seconds: float) -> asyncio.Future[Any]:
        """Send a command."""
        answer = self._loop.create_future()
        if self.lost is not None:
            answer.set_exception(self.lost)
            return answer
        until = self._loop.time() + seconds
        self._asked.append((answer, until))
        if self._timer is None:
            self._timer = self._loop.call_at(until, self._look)
        self._transport.write(packed)
        return answer

    def data_received(self, data: bytes) -> None:
        """Give out the answers that are whole."""
        try:
            self._reader.feed(data)
            while (said := self._reader.gets()) is not _NOT_WHOLE:
                self._give(said)
        except (RedisError, IndexError) as garbled:
            self._end(ConnectionLost(f"Redis cannot be understood: {garbled}"))

    def connection_lost(self, error: Exception | None) -> None:
        """Nobody is answered any more."""
        self._end(ConnectionLost(f"the connection to Redis is lost: {error or 'it was closed'}"))

    def close(self) -> None:
        """Close the connection; nobody sends what waits on it again."""
        self._end(RedisError("the connection was closed"))

    def _give(self, said: Any) -> None:
        if isinstance(said, hiredis.PushNotification):
            return
        answer, _ = self._asked.popleft()
        if answer.done():
            # Nobody waits for it any more.
            return
        if isinstance(said, Exception):
            answer.set_exception(said)
        else:
            answer.set_result(said)

    def _look(self) -> None:
        """End the connection when the oldest command's time is over: what comes after it waits as well."""
        self._timer = None
        if not self._asked:
            return
        oldest, until = self._asked[0]
        if self._loop.time() < until:
            self._timer = self._loop.call_at(until, self._look)
        elif oldest is not self._late:
            # The answer may have come while this process did something else.
            self._late = oldest
            self._timer = self._loop.call_later(_GRACE_SECONDS, self._look)
        else:
            self._end(AnsweredTooLate("Redis does not answer"))

    def _end(self, lost: Exception) -> None:
        if self.lost is not None:
            return
        self.lost = lost
        if self._timer is not None:
            self._timer.cancel()
        self._transport.abort()
        for answer, _ in self._asked:
            if not answer.done():
                answer.set_exception(lost)
        self._asked.clear()


def _noticed(connecting: "asyncio.Task[_Answers]") -> None:
    """Whoever waited has been told why it failed; nobody may have."""
    if not connecting.cancelled():
        connecting.exception()


def _refusal(said: str) -> Exception:
    """Redis' words as redis-py's exception, such as NoScriptError."""
    return cast(Exception, cast(Any, BaseParser).parse_error(said))
