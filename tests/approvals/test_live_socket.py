"""A socket whose Redis is slow, or goes away and comes back, begins anew: nobody told it what changed before."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisAway

from approvals.web import live_socket
from approvals.web.live_socket import LiveConsumer
from tenants.people.principal import Principal
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


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> Layer:
    """The layer of the sockets of a member who stays one; they wait for it no time at all."""
    member = Principal(uuid.uuid4(), "slug", uuid.uuid4(), "alice", "member", frozenset({"chat"}))
    layer = Layer()
    monkeypatch.setattr(Counting, "times", iter(range(1, 100)), raising=False)
    monkeypatch.setattr(live_socket.SocketClient, "principal", lambda self: member)
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
