"""A socket whose Redis is slow, falls silent, or goes away and comes back, begins anew: nobody told it what changed
before."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.conf import settings
from django.test import override_settings
from redis.exceptions import ConnectionError as RedisAway
from redis.exceptions import RedisError

from approvals.web import hearing, live_socket
from approvals.web.live_socket import LiveConsumer
from tenants.people.principal import Principal
from tests.redis_relay import Relay, relay
from tests.waiting import PATIENCE_SECONDS


class Layer:
    """A channel layer that subscribes when it may, and breaks off when it is told to."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.messages: asyncio.Queue[dict[str, Any] | Exception] = asyncio.Queue()

    async def ping(self) -> None:
        """As Redis answers."""

    async def new_channel(self) -> str:
        """A channel."""
        return "channel"

    async def group_add(self, group: str, channel: str) -> None:
        """Subscribe."""
        await self.open.wait()

    async def group_discard(self, group: str, channel: str) -> None:
        """End that."""

    async def receive(self, channel: str) -> dict[str, Any]:
        """What is told next."""
        if isinstance(message := await self.messages.get(), Exception):
            raise message
        return message


class Counting(LiveConsumer):
    """Says how often it has begun, and which rows changed."""

    scope_needed = "chat"
    times: Iterator[int]

    def group(self, principal: Principal) -> str:
        """One."""
        return "group"

    def ready(self, principal: Principal) -> dict[str, Any]:
        """How often it has begun."""
        return {"begun": next(self.times)}

    def change(self, principal: Principal, changed_id: uuid.UUID) -> dict[str, Any]:
        """What changed."""
        return {"changed": changed_id.int}


@pytest.fixture(autouse=True)
def _member(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sockets are of a member who stays one."""
    member = Principal(uuid.uuid4(), "slug", uuid.uuid4(), "alice", "member", frozenset({"chat"}))
    monkeypatch.setattr(Counting, "times", iter(range(1, 100)), raising=False)
    monkeypatch.setattr(live_socket.SocketClient, "principal", lambda self: member)


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> Layer:
    """The layer of the sockets; they wait for it no time at all."""
    layer = Layer()
    monkeypatch.setattr(live_socket, "get_channel_layer", lambda: layer)
    monkeypatch.setattr(live_socket.redis, "client", lambda: layer)
    monkeypatch.setattr(live_socket, "PATIENCE_SECONDS", 0.0)
    return layer


@asynccontextmanager
async def opened() -> AsyncIterator["asyncio.Queue[dict[str, Any]]"]:
    """What a socket sends."""
    frames: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    frames.put_nowait({"type": "websocket.connect"})
    served = asyncio.create_task(Counting()({"type": "websocket", "headers": []}, frames.get, sent.put))
    try:
        assert (await sent.get())["type"] == "websocket.accept"
        yield sent
    finally:
        frames.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await asyncio.wait([served])


async def heard(sent: "asyncio.Queue[dict[str, Any]]") -> Any:
    """The next message."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        return json.loads((await sent.get())["text"])


def changed(number: int) -> dict[str, Any]:
    """The layer's message of a change."""
    return {"id": str(uuid.UUID(int=number))}


async def test_a_socket_that_listens_in_time_begins_once(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_socket, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    layer.open.set()
    async with opened() as sent:
        assert await heard(sent) == {"begun": 1}
        layer.messages.put_nowait(changed(7))
        assert await heard(sent) == {"changed": 7}


async def test_a_socket_that_comes_to_listen_late_or_again_begins_anew(layer: Layer) -> None:
    async with opened() as sent:
        assert await heard(sent) == {"begun": 1}
        layer.open.set()
        assert await heard(sent) == {"begun": 2}
        layer.messages.put_nowait(RedisAway())
        assert await heard(sent) == {"begun": 3}
        layer.messages.put_nowait(changed(7))
        assert await heard(sent) == {"changed": 7}


async def test_a_socket_that_cannot_listen_for_another_reason_ends_rather_than_say_nothing(layer: Layer) -> None:
    layer.open.set()
    async with opened() as sent:
        assert await heard(sent) == {"begun": 1}
        layer.messages.put_nowait(RuntimeError("read() called while another coroutine is already waiting"))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (frame := await sent.get())["type"] != "websocket.close":
                pass
        assert frame["code"] == live_socket.FAILED


async def test_a_socket_ends_though_it_was_lost_that_its_listening_is_over(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def losing(group: str, channel: str) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    monkeypatch.setattr(layer, "group_add", losing)
    async with asyncio.timeout(PATIENCE_SECONDS), opened() as sent:
        assert await heard(sent) == {"begun": 1}


# --- Redis itself, behind a relay ------------------------------------------------------------------------------------
@pytest.fixture
async def between(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Relay]:
    """In front of the Redis that the channel layer uses; this process speaks to itself all the time."""
    monkeypatch.setattr(hearing, "EVERY_SECONDS", 0.05)
    async with relay(settings.REDIS_URL) as between:
        of_now = settings.CHANNEL_LAYERS["default"]
        config = of_now["CONFIG"] | {"hosts": [of_now["CONFIG"]["hosts"][0] | {"address": between.url}]}
        with override_settings(CHANNEL_LAYERS={"default": of_now | {"CONFIG": config}}):
            yield between
            await get_channel_layer().flush()


async def is_told(sent: "asyncio.Queue[dict[str, Any]]", number: int) -> None:
    """Announce a change until the socket says so; how often it began meanwhile is not looked at."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with suppress(RedisError, TimeoutError):
                await get_channel_layer().group_send("group", changed(number))
                async with asyncio.timeout(1):
                    while json.loads((await sent.get())["text"]) != {"changed": number}:
                        pass
                    return


async def test_a_socket_whose_connection_to_redis_fell_silent_listens_anew(
    between: Relay, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened() as one, opened() as other:
        await is_told(one, 1)
        await is_told(other, 2)
        between.silence()
        await is_told(one, 3)
        await is_told(other, 4)
    assert "sockets heard nothing, and listen anew" in caplog.messages


async def test_nothing_is_left_on_the_layer_of_sockets_that_have_ended(between: Relay) -> None:
    async with opened() as sent:
        await is_told(sent, 1)
    layer = get_channel_layer()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while layer.channels or layer.groups:
            await asyncio.sleep(0.05)
