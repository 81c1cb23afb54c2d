"""One asynchronous Redis client an event loop, for messages, wake-ups, limits and caches: all may be lost, so all
give up quickly."""

import asyncio
from weakref import WeakKeyDictionary

import redis.asyncio as redis
from django.conf import settings
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import RedisError

# What a command raises that was not carried out, or perhaps not.
AWAY = (RedisError, OSError, TimeoutError)
_SECONDS = 2.0
_CONNECTIONS = 16
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, redis.Redis] = WeakKeyDictionary()


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


async def close() -> None:
    """Close this event loop's client."""
    held = _clients.pop(asyncio.get_running_loop(), None)
    if held is not None:
        await held.aclose()
