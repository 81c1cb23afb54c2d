"""A socket whose Redis is slow, falls silent, or goes away and comes back, begins anew: nobody told it what changed
before."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.test import override_settings

from approvals.web import live_socket
from approvals.web.live_socket import LiveConsumer
from tenants.people.principal import Principal
from tests.redis_relay import relay
from tests.waiting import PATIENCE_SECONDS
from tools.network import announcements, redis, subscription
from tools.network.subscription import Heard


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


# --- as Redis says it ------------------------------------------------------------------------------------------------
@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> "asyncio.Queue[Heard]":
    """What the process hears; its sockets wait for that no time at all."""
    said: asyncio.Queue[Heard] = asyncio.Queue()

    async def listen(*channels: str) -> AsyncIterator[Heard]:
        while True:
            yield await said.get()

    monkeypatch.setattr(subscription, "listen", listen)
    monkeypatch.setattr(live_socket, "PATIENCE_SECONDS", 0.0)
    return said


SUBSCRIBED = (announcements.CHANNEL, None)


def changed(what: object, group: object = "group") -> Heard:
    """An announcement that a row changed."""
    return announcements.CHANNEL, orjson.dumps({"group": group, "id": what})


async def test_a_socket_that_comes_to_listen_late_or_again_begins_anew(said: "asyncio.Queue[Heard]") -> None:
    async with opened() as sent:
        assert await heard(sent) == {"begun": 1}
        said.put_nowait(SUBSCRIBED)
        assert await heard(sent) == {"begun": 2}
        said.put_nowait(SUBSCRIBED)
        assert await heard(sent) == {"begun": 3}
        said.put_nowait(changed(uuid.UUID(int=7)))
        assert await heard(sent) == {"changed": 7}


async def test_what_others_are_told_and_what_nobody_understands_is_passed_over(said: "asyncio.Queue[Heard]") -> None:
    async with opened() as sent:
        assert await heard(sent) == {"begun": 1}
        for other in (changed(uuid.uuid4(), "other"), changed("x"), changed(None), changed(1), (SUBSCRIBED[0], b"[]")):
            said.put_nowait(other)
        said.put_nowait(changed(uuid.uuid4(), ["list"]))
        said.put_nowait(changed(uuid.UUID(int=7)))
        assert await heard(sent) == {"changed": 7}


# --- Redis itself ----------------------------------------------------------------------------------------------------
async def is_told(sent: "asyncio.Queue[dict[str, Any]]", number: int) -> None:
    """Announce a change until the socket says so; how often it began meanwhile is not looked at."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with suppress(TimeoutError):
                await announcements.announce("group", [uuid.UUID(int=number)])
                async with asyncio.timeout(1):
                    while await heard(sent) != {"changed": number}:
                        pass
                    return


async def test_a_socket_that_listens_in_time_begins_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_socket, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    async with opened() as one, opened() as other:
        for sent in (one, other):
            assert (await heard(sent)).keys() == {"begun"}
        await announcements.announce("group", [uuid.UUID(int=7), uuid.UUID(int=8)])
        for sent in (one, other):
            assert [await heard(sent), await heard(sent)] == [{"changed": 7}, {"changed": 8}]


async def test_sockets_whose_connection_to_redis_fell_silent_are_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "ASK_SECONDS", 0.1)
    async with relay(settings.REDIS_URL) as between:
        with override_settings(REDIS_URL=between.url):
            async with opened() as one, opened() as other:
                await is_told(one, 1)
                await is_told(other, 2)
                between.silence()
                await is_told(one, 3)
                await is_told(other, 4)
            await redis.close()


async def test_without_sockets_nobody_listens() -> None:
    def listening() -> bool:
        return any("Hearing._listen" in repr(task.get_coro()) for task in asyncio.all_tasks())

    async with opened() as one:
        async with opened() as other:
            await is_told(other, 1)
        await is_told(one, 2)
        assert listening()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while listening():
            await asyncio.sleep(0)
