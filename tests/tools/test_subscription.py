"""The connection to Redis that hears what is published."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from redis import Redis
from redis.exceptions import ConnectionError as ConnectionLost

from tests.redis_relay import relay
from tests.waiting import PATIENCE_SECONDS, eventually
from tools.invocation.live import wakeups
from tools.network import redis, subscription
from tools.network.subscription import Subscription


@pytest.fixture
def other() -> Redis:
    """Another process's client."""
    return Redis.from_url(settings.REDIS_URL)


@pytest.fixture
def ids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What Redis calls the connections that are made, the last one last."""
    made: list[int] = []
    make = redis.connection_of

    async def noted(of: Any) -> Any:
        connection = await make(of)
        await connection.send_command("CLIENT", "ID")
        made.append(await connection.read_response())
        return connection

    monkeypatch.setattr(redis, "connection_of", noted)
    return made


async def _subscribed(*channels: str) -> Subscription:
    heard = Subscription(await redis.connection_of(redis.client()), *channels)
    assert sorted([await heard.next() for _ in channels]) == sorted((channel, None) for channel in channels)
    return heard


@pytest.fixture
async def channel() -> AsyncIterator[str]:
    yield f"test:{uuid.uuid4()}"
    await redis.close()


async def test_what_is_published_is_heard_in_its_order_and_by_its_channel(channel: str, other: Redis) -> None:
    heard = await _subscribed(channel, f"{channel}:2")
    said = [(channel, b"\x00\r\n"), (f"{channel}:2", b""), (channel, b"x" * 1_000_000), (f"{channel}:2", b"last")]
    for where, what in said:
        other.publish(where, what)
    assert [await heard.next() for _ in said] == said
    heard.close()


async def test_what_was_heard_before_the_connection_broke_is_told_first(
    channel: str, other: Redis, ids: list[int]
) -> None:
    heard = await _subscribed(channel)
    other.publish(channel, b"said")
    assert await heard.next() == (channel, b"said")
    waiting = asyncio.create_task(heard.next())
    other.client_kill_filter(_id=str(ids[-1]))
    with pytest.raises(ConnectionLost):
        await waiting
    with pytest.raises(ConnectionLost):
        await heard.next()


async def test_a_waiting_listener_can_be_cancelled_and_goes_on(channel: str, other: Redis) -> None:
    heard = await _subscribed(channel)
    waiting = asyncio.create_task(heard.next())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    other.publish(channel, b"said")
    assert await heard.next() == (channel, b"said")
    heard.close()


async def test_a_connection_that_falls_silent_is_lost(channel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "ASK_SECONDS", 0.1)
    async with relay(settings.REDIS_URL) as between:
        with override_settings(REDIS_URL=between.url):
            heard = await _subscribed(channel)
            between.silence()
            with pytest.raises(ConnectionLost, match="Redis does not answer"):
                await asyncio.wait_for(heard.next(), PATIENCE_SECONDS)
            await redis.close()


async def test_a_connection_on_which_nothing_is_said_is_kept(
    channel: str, other: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "ASK_SECONDS", 0.001)
    monkeypatch.setattr(subscription, "MOST_UNANSWERED", 100)
    heard = await _subscribed(channel)

    def questions() -> int:
        return int(other.info("commandstats")["cmdstat_ping"]["calls"])

    before = questions()
    await eventually(lambda: questions() > before + 300)
    other.publish(channel, b"said")
    assert await heard.next() == (channel, b"said")
    heard.close()


async def test_who_listens_is_told_that_it_subscribes_again(channel: str, other: Redis, ids: list[int]) -> None:
    listening = wakeups.listen(channel)
    assert {await anext(listening), await anext(listening)} == {(wakeups.CHANNEL, None), (channel, None)}
    other.client_kill_filter(_id=str(ids[-1]))
    assert {await anext(listening), await anext(listening)} == {(wakeups.CHANNEL, None), (channel, None)}
    other.publish(channel, b"said")
    said = await anext(listening)
    while said[0] != channel:
        said = await anext(listening)
    assert said == (channel, b"said")
    await listening.aclose()  # type: ignore[attr-defined]


async def test_a_refused_subscription_is_a_lost_connection(channel: str) -> None:
    # Without a channel the command is wrong.
    heard = Subscription(await redis.connection_of(redis.client()))
    with pytest.raises(ConnectionLost):
        await heard.next()
