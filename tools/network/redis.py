"""One asynchronous Redis client an event loop, for messages, wake-ups, limits and caches: all may be lost, so all
give up quickly."""

import asyncio
from functools import partial
from typing import Any, cast
from weakref import WeakKeyDictionary

import redis.asyncio as redis
from django.conf import settings
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as AnsweredTooLate

from tools.network.line import Line, Word
from tools.network.patience import within

# What a command raises that was not carried out, or perhaps not.
AWAY = (RedisError, OSError, TimeoutError)
_SECONDS = 2.0
_CONNECTIONS = 16
# When redis-py itself gives up while it connects.
_AT_LAST_SECONDS = 60.0
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, redis.Redis] = WeakKeyDictionary()
_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, Line] = WeakKeyDictionary()


def client() -> redis.Redis:
    """This event loop's client; commands give up after two seconds.

    A command whose connection broke is sent once more, on a new one. When all connections are in use, it waits for one.
    """
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        pool = redis.BlockingConnectionPool.from_url(
            settings.REDIS_URL,
            max_connections=_CONNECTIONS,
            timeout=_SECONDS,
            socket_timeout=_SECONDS,
            socket_connect_timeout=_SECONDS,
            retry=Retry(NoBackoff(), 1, supported_errors=(ConnectionLost,)),
        )
        _clients[loop] = redis.Redis.from_pool(pool)
    return _clients[loop]


def line() -> Line:
    """This event loop's connection for what every call asks, such as its rate limit: all share it.

    Commands give up and are sent again as the client's. None that blocks may be sent over it.
    """
    loop = asyncio.get_running_loop()
    found = _lines.get(loop)
    if found is None:
        found = _lines[loop] = Line(partial(connection_of, client()), _SECONDS)
    return found


async def ask(*words: Word) -> Any:
    """The answer to a command over the event loop's `line`."""
    return await line().ask(*words)


async def connection_of(of: redis.Redis) -> AbstractConnection:
    """A connection that a client has made, and does not have. Raises what is `AWAY` when there is none.

    It takes several steps, and a process that just started is busy: of the client's connect timeout, only time counts
    in which the event loop moves.
    """
    connection = cast(Any, of.connection_pool).make_connection()
    seconds = connection.socket_connect_timeout
    connection.socket_timeout = connection.socket_connect_timeout = _AT_LAST_SECONDS
    connecting = asyncio.ensure_future(connection.connect())
    try:
        await within(seconds, connecting)
    except BaseException as error:
        # Once it has ended: redis-py may connect although it was cancelled.
        connecting.add_done_callback(lambda _: connection._close())
        if isinstance(error, TimeoutError):
            raise AnsweredTooLate("Redis does not let us connect") from error
        raise
    return cast(AbstractConnection, connection)


async def close() -> None:
    """Close this event loop's client."""
    line_of = _lines.pop(asyncio.get_running_loop(), None)
    if line_of is not None:
        line_of.close()
    held = _clients.pop(asyncio.get_running_loop(), None)
    if held is not None:
        await held.aclose()
