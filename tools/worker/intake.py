"""Takes messages from the broker on the worker's event loop, as they come, and hands them to the pool.

Celery's own consumer would read each in another thread, make a request of it, and hand that over. Here it gets what is
not a task of `background.task`, or has conditions that only Celery knows (`expires`, `eta`): from a list beside the
queue, `broker.others_of`.

What is here without a slot is noted in this process's memory. It goes back to its queue, first in turn, when the worker
ends; what a killed worker had, the sweeper sends again.
"""

import asyncio
import base64
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import orjson
import redis.asyncio as redis
from celery import Celery
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError

from tools.network.line import Line
from tools.network.redis import AWAY, connection_of
from tools.worker import background, broker
from tools.worker.background import Lane, Work

log = logging.getLogger(__name__)

# How long one command waits for a message: what is stopped meanwhile ends that much later.
_WAITS = 0.5
# What one command takes at most, so that a burst is spread over the workers.
_TOGETHER = 8
_PAUSE = 1.0


class Taken(NamedTuple):
    """A message of the pool's: the task's name and arguments, its coroutine function and lane, and as it was sent."""

    name: str
    arguments: tuple[str, ...]
    work: Work
    lane: Lane
    queue: str
    raw: bytes


class Intake:
    """What a worker process takes of the queues that Celery consumes; everything but `consume` and `cancel` is on the
    loop. It holds at most `most` messages that have not begun."""

    def __init__(self, app: Celery, receive: Callable[[Taken], None], most: int):
        self._app, self._receive, self._most = app, receive, most
        self._loop = background.loop()
        self._prefix = app.conf.broker_transport_options.get("global_keyprefix", "")
        self._consumed: dict[str, asyncio.Event] = {}
        # In the order in which they came.
        self._held: dict[bytes, Taken] = {}
        self._room = asyncio.Event()
        self._room.set()
        self._client: redis.Redis | None = None
        # For the commands that wait for a message.
        self._lines: dict[str, Line] = {}
        self._several = True

    def consume(self, queue: str) -> None:
        """Take messages from a queue, from now on."""
        self._loop.call_soon_threadsafe(self._consume, queue)

    def cancel(self, queue: str) -> None:
        """Take nothing more from it."""
        self._loop.call_soon_threadsafe(self._cancel, queue)

    def begun(self, taken: Taken) -> None:
        """A message has its slot, or is dropped."""
        self._held.pop(taken.raw, None)
        self._room.set()

    async def give_back(self) -> None:
        """Put what has no slot back into its queue, where it is first in turn; a broker that is away is only logged."""
        for cancelled in self._consumed.values():
            cancelled.set()
        held = list(self._held.values())
        self._held.clear()
        try:
            for taken in reversed(held):
                await self._broker().rpush(self._prefix + taken.queue, taken.raw)
        except AWAY as away:
            log.warning("messages left to the sweeper", extra={"messages": len(held), "why": type(away).__name__})
        finally:
            for line in self._lines.values():
                line.close()
            if self._client is not None:
                await self._client.aclose()

    def _consume(self, queue: str) -> None:
        if queue not in self._consumed:
            self._consumed[queue] = asyncio.Event()
            background.begin(self._take(queue, self._consumed[queue]))

    def _cancel(self, queue: str) -> None:
        if queue in self._consumed:
            self._consumed.pop(queue).set()

    def _broker(self) -> redis.Redis:
        if self._client is None:
            options = self._app.conf.broker_transport_options
            self._client = redis.Redis.from_url(
                self._app.conf.broker_url,
                socket_timeout=options.get("socket_timeout", 5),
                socket_connect_timeout=options.get("socket_connect_timeout", 2),
                retry=Retry(NoBackoff(), 0),
            )
        return self._client

    def _line(self, key: str) -> Line:
        if key not in self._lines:
            seconds = self._app.conf.broker_transport_options.get("socket_timeout", 5)
            self._lines[key] = Line(partial(connection_of, self._broker()), seconds)
        return self._lines[key]

    async def _take(self, queue: str, cancelled: asyncio.Event) -> None:
        key = self._prefix + queue
        away = False
        while not background.is_draining() and not cancelled.is_set():
            if len(self._held) >= self._most:
                self._room.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_WAITS):
                        await self._room.wait()
                continue
            try:
                messages = await self._popped(key)
            except AWAY as error:
                if not away and not cancelled.is_set():
                    log.warning("no messages from the broker", extra={"why": type(error).__name__})
                away = True
                await asyncio.sleep(_PAUSE)
                continue
            away = False
            await self._sort(queue, messages)

    async def _popped(self, key: str) -> list[bytes]:
        """What comes next, none after a while."""
        if self._several:
            count = min(_TOGETHER, self._most - len(self._held))
            try:
                found: Any = await self._line(key).ask("BLMPOP", _WAITS, 1, key, "RIGHT", "COUNT", count)
            except ResponseError:
                # Redis 6 does not know it.
                self._several = False
            else:
                return [] if found is None else found[1]
        found = await self._line(key).ask("BRPOP", key, _WAITS)
        return [] if found is None else [found[1]]

    async def _sort(self, queue: str, messages: list[bytes]) -> None:
        """Hand over what is the pool's, and put the rest where Celery's consumer finds it."""
        others = []
        for raw in messages:
            taken = self._read(queue, raw)
            if taken is None:
                others.append(raw)
            else:
                self._held[raw] = taken
                self._receive(taken)
        while others:
            try:
                await self._broker().lpush(self._prefix + broker.others_of(queue), *others)
                return
            except AWAY:
                await asyncio.sleep(_PAUSE)

    def _read(self, queue: str, raw: bytes) -> Taken | None:
        """The message, if the pool can take it: as `tools.network.messages` writes them."""
        try:
            message = orjson.loads(raw)
            headers, properties = message["headers"], message["properties"]
            task: Any = self._app.tasks[headers["task"]]
            if (
                headers["eta"] is not None
                or headers["expires"] is not None
                or message["content-type"] != "application/json"
                or properties["body_encoding"] != "base64"
            ):
                return None
            arguments = orjson.loads(base64.b64decode(message["body"]))[0]
            return Taken(headers["task"], tuple(map(str, arguments)), task.work, task.lane, queue, raw)
        except (ValueError, TypeError, LookupError, AttributeError):
            return None
