"""One asynchronous Redis client an event loop, for hints and caches: both may be lost, so both give up quickly."""

import asyncio
from weakref import WeakKeyDictionary

import redis.asyncio as redis
from django.conf import settings

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, redis.Redis] = WeakKeyDictionary()


def client() -> redis.Redis:
    """This event loop's client; commands give up after a second."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=1.0, socket_connect_timeout=1.0, max_connections=64
        )
    return _clients[loop]


async def close() -> None:
    """Close this event loop's client."""
    held = _clients.pop(asyncio.get_running_loop(), None)
    if held is not None:
        await held.aclose()
