"""Who is cancelled ends, whatever happens in that moment to what a library of theirs waits for."""

import asyncio

import pytest
from django.conf import settings

from tenants.scope.transactions import borrowed, own_pool
from tests.waiting import PATIENCE_SECONDS, eventually
from tools.network import redis

# After how many turns of the event loop they are cancelled: what is waited for has taken its last step long before.
TURNS = range(25)


async def _cancelled_after(turns: int, task: "asyncio.Task[None]") -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=PATIENCE_SECONDS)
    assert done, f"goes on although it was cancelled after {turns} turns"
    assert task.cancelled()


async def _hold() -> None:
    async with borrowed():
        await asyncio.sleep(3600)


async def test_one_that_waits_for_a_connection_is_cancelled_also_as_it_is_given_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "DATABASE_POOL_SIZE", 1)
    pool = await own_pool()
    for turns in TURNS:
        first, second = asyncio.ensure_future(_hold()), asyncio.ensure_future(_hold())
        await eventually(lambda: pool._waiting)
        await _cancelled_after(0, first)
        await _cancelled_after(turns, second)
    # Nor was the connection lost.
    async with asyncio.timeout(PATIENCE_SECONDS), borrowed() as held:
        assert not held.closed


async def test_one_that_sends_redis_a_command_is_cancelled_also_as_it_is_sent() -> None:
    async def ask() -> None:
        await redis.client().ping()
        await asyncio.sleep(3600)

    await redis.client().ping()
    for turns in TURNS:
        await _cancelled_after(turns, asyncio.ensure_future(ask()))
    assert await redis.client().ping()


async def test_what_takes_too_long_is_cancelled_and_what_ends_is_returned() -> None:
    working = asyncio.ensure_future(asyncio.sleep(3600))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(working, 0.01)
    assert working.cancelled()
    assert await asyncio.wait_for(asyncio.sleep(0, "done"), 3600) == "done"
    assert await asyncio.wait_for(asyncio.sleep(0, "done"), None) == "done"
