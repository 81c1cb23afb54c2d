import asyncio
import uuid

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.stack import free_port
from tools.network.cache import TenantCache

TENANT = uuid.UUID(int=1)
OTHER = uuid.UUID(int=2)


class FakeRedis:
    """As much of a Redis client as the cache asks of."""

    def __init__(self, error=None, hangs=False):
        self.rows = {}
        self.seconds = {}
        self.error = error
        self.hangs = hangs
        self.asked = 0

    async def _answer(self):
        self.asked += 1
        if self.error:
            raise self.error
        if self.hangs:
            await asyncio.Event().wait()

    async def get(self, key):
        await self._answer()
        return self.rows.get(key)

    async def set(self, key, value, ex):
        await self._answer()
        self.rows[key], self.seconds[key] = value, ex


async def test_a_value_comes_back_under_its_own_tenant_only():
    redis = FakeRedis()
    await TenantCache(redis, TENANT).set("k", {"a": ["é", 1]}, 300)
    assert await TenantCache(redis, TENANT).get("k") == {"a": ["é", 1]}
    assert await TenantCache(redis, OTHER).get("k") is None
    assert redis.seconds == {f"toolgate:cache:{TENANT}:k": 300}


async def test_bytes_that_are_not_json_are_a_miss():
    redis = FakeRedis()
    redis.rows[f"toolgate:cache:{TENANT}:k"] = b"\xff{"
    assert await TenantCache(redis, TENANT).get("k") is None


@pytest.mark.parametrize("redis", [FakeRedis(RedisConnectionError()), FakeRedis(OSError()), FakeRedis(hangs=True)])
async def test_a_redis_that_is_away_or_hangs_is_a_miss(redis, monkeypatch):
    monkeypatch.setattr("tools.network.cache._SECONDS", 0.01)
    cache = TenantCache(redis, TENANT)
    assert await cache.set("k", 1, 300) is None
    assert await cache.get("k") is None
    assert (redis.asked, redis.rows) == (2, {})


async def test_a_closed_port_is_a_miss():
    redis = Redis(host="127.0.0.1", port=free_port())
    assert await TenantCache(redis, TENANT).get("k") is None
    await redis.aclose()
