"""The connection to Redis that many share: answers in their order, and what becomes of one that breaks."""

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator
from functools import partial
from typing import Self

import pytest
from django.conf import settings
from django.test import override_settings
from redis import Redis
from redis.asyncio import Connection, ConnectionPool
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.exceptions import TimeoutError as AnsweredTooLate

from tests.waiting import PATIENCE_SECONDS
from tools.network import redis
from tools.network.line import Line


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    """One of the test's own."""
    line = Line(partial(redis.connection_of, redis.client()), 30)
    yield line
    line.close()


def _name() -> str:
    return f"test:{uuid.uuid4()}"


def _kill(client_id: int) -> None:
    with Redis.from_url(settings.REDIS_URL) as other:
        other.client_kill_filter(_id=str(client_id))


async def test_those_who_ask_at_a_time_are_answered_in_their_order_over_one_connection(line: Line) -> None:
    name = _name()
    asked = [line.ask("INCR", name) if number % 2 else line.ask("CLIENT", "ID") for number in range(40)]
    answers = await asyncio.gather(*asked)
    assert answers[1::2] == list(range(1, 21))
    assert len(set(answers[::2])) == 1


async def test_a_refused_command_ends_nothing_but_itself(line: Line) -> None:
    name = _name()
    before = await line.ask("CLIENT", "ID")
    refused = line.ask("LPUSH", name), line.ask("EVALSHA", "0" * 40, 0), line.ask("SET", name, b"\x00\r\n")
    wrong, unknown, done = await asyncio.gather(*refused, return_exceptions=True)
    assert (type(wrong), type(unknown), done) == (ResponseError, NoScriptError, b"OK")
    assert await line.ask("GET", name) == b"\x00\r\n"
    assert await line.ask("CLIENT", "ID") == before


async def test_a_command_goes_over_a_new_connection_once_the_last_one_was_closed(line: Line) -> None:
    before = await line.ask("CLIENT", "ID")
    _kill(before)
    assert await line.ask("CLIENT", "ID") != before


async def test_a_command_whose_connection_breaks_is_sent_once_more(line: Line) -> None:
    name, held = _name(), await line.ask("CLIENT", "ID")
    waiting = asyncio.create_task(line.ask("BLPOP", name, 0))
    await asyncio.sleep(0)
    _kill(held)
    with Redis.from_url(settings.REDIS_URL) as other:
        other.rpush(name, "found")
    assert await waiting == [name.encode(), b"found"]
    assert await line.ask("CLIENT", "ID") != held


async def test_a_command_is_not_sent_a_third_time() -> None:
    made = 0

    async def broken() -> AbstractConnection:
        nonlocal made
        made += 1
        connection = await redis.connection_of(redis.client())
        await connection.send_command("CLIENT", "ID")
        _kill(await connection.read_response())
        return connection

    with pytest.raises(ConnectionLost):
        await Line(broken, 30).ask("BLPOP", _name(), 0)
    assert made == 2


async def test_a_command_that_is_not_answered_in_time_ends_its_connection_and_what_waits_behind_it(line: Line) -> None:
    line._seconds = 0.2
    held = asyncio.gather(line.ask("BLPOP", _name(), 0), line.ask("PING"), return_exceptions=True)
    assert [type(each) for each in await held] == [AnsweredTooLate] * 2
    line._seconds = 30
    assert await line.ask("PING") == b"PONG"


async def test_an_answer_that_came_while_the_process_was_busy_is_none_that_came_too_late(line: Line) -> None:
    await line.ask("PING")
    line._seconds = 0.2
    asked = asyncio.create_task(line.ask("PING"))
    await asyncio.sleep(0)
    # The event loop stands still for longer than that.
    threading.Event().wait(0.5)
    assert await asked == b"PONG"


async def test_a_connection_made_while_the_process_is_busy_is_not_given_up() -> None:
    made = 0

    async def slowly() -> AbstractConnection:
        nonlocal made
        made += 1
        return await redis.connection_of(AsyncRedis.from_url(settings.REDIS_URL, socket_connect_timeout=0.4))

    async def be_busy() -> None:
        while True:
            threading.Event().wait(0.3)
            await asyncio.sleep(0)

    line, busy = Line(slowly, 30), asyncio.create_task(be_busy())
    assert await line.ask("PING") == b"PONG"
    assert made == 1
    busy.cancel()
    line.close()


class _Silent:
    """A server that reads what it is told, and answers nothing."""

    def __init__(self) -> None:
        self.heard, self.left = asyncio.Event(), asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            self.heard.set()
        writer.close()
        self.left.set()


async def test_a_connection_that_redis_does_not_answer_is_given_up_and_closed() -> None:
    async with _Silent() as silent, asyncio.timeout(PATIENCE_SECONDS):
        away = Line(partial(redis.connection_of, AsyncRedis.from_url(silent.url, socket_connect_timeout=0.2)), 30)
        with pytest.raises(AnsweredTooLate):
            await away.ask("PING")
        await silent.left.wait()


async def test_one_that_is_cancelled_while_it_connects_closes_the_connection() -> None:
    async with _Silent() as silent, asyncio.timeout(PATIENCE_SECONDS):
        client = AsyncRedis.from_url(silent.url, socket_connect_timeout=30)
        connecting = asyncio.create_task(redis.connection_of(client))
        await silent.heard.wait()
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        await silent.left.wait()


async def test_one_that_is_cancelled_when_it_is_just_connected_closes_the_connection() -> None:
    made: list[Connection] = []

    class Cancels(Connection):
        async def connect(self) -> None:
            await super().connect()
            made.append(self)
            asking.cancel()

    pool = ConnectionPool.from_url(settings.REDIS_URL, connection_class=Cancels, socket_connect_timeout=30)
    asking = asyncio.create_task(redis.connection_of(AsyncRedis.from_pool(pool)))
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.sleep(0)
    assert [each.is_connected for each in made] == [False]


async def test_one_that_is_cancelled_while_the_connection_is_made_leaves_it_to_the_others(line: Line) -> None:
    first, second = (asyncio.create_task(line.ask("PING")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == b"PONG"
    assert first.cancelled()


async def test_everybody_is_told_that_redis_is_away_and_served_once_it_is_back() -> None:
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        away = Line(partial(redis.connection_of, redis.client()), 30)
    told = await asyncio.gather(*(away.ask("PING") for _ in range(3)), return_exceptions=True)
    assert all(isinstance(each, RedisError | OSError) for each in told)
    await redis.close()
    assert await redis.ask("PING") == b"PONG"


async def test_a_closed_line_says_so_to_whoever_waits_and_sends_nothing_again(line: Line) -> None:
    before = await line.ask("CLIENT", "ID")
    waiting = asyncio.create_task(line.ask("BLPOP", _name(), 0))
    await asyncio.sleep(0)
    line.close()
    with pytest.raises(RedisError, match="closed"):
        await waiting
    assert await line.ask("CLIENT", "ID") != before
