"""A tenant's short-lived cache for tools, in Redis: it may lose anything at any time, and never gets in the way."""

import uuid
from typing import Any

import orjson
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tools.network.patience import within

# A cache that takes longer than this to answer saves nothing.
_SECONDS = 0.25
_PREFIX = "toolgate:cache"


class TenantCache:
    """JSON values under keys that no other tenant can reach."""

    def __init__(self, redis: Redis, tenant_id: uuid.UUID):
        self._redis = redis
        self._tenant_id = tenant_id

    def _key(self, key: str) -> str:
        return f"{_PREFIX}:{self._tenant_id}:{key}"

    async def get(self, key: str) -> Any | None:
        """The value, or None when there is none, or Redis is away, slow, or holds something else under that key."""
        try:
            found = await within(_SECONDS, self._redis.get(self._key(key)))
            return None if found is None else orjson.loads(found)
        except (RedisError, OSError, TimeoutError, orjson.JSONDecodeError):
            return None

    async def set(self, key: str, value: Any, seconds: int) -> None:
        """Keep a JSON value for `seconds`, or do nothing when Redis is away or slow."""
        text = orjson.dumps(value)
        try:
            await within(_SECONDS, self._redis.set(self._key(key), text, ex=seconds))
        except (RedisError, OSError, TimeoutError):
            return
