"""What tools say about calls while they run, for clients that ask to hear it: never stored, and lost without harm.

Only MCP clients can hear it, so a call of any other origin says nothing to anybody. Each message that is published has
all that the call has said so far, so whoever begins to listen later misses nothing, and the order is never wrong.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from redis.exceptions import RedisError

from audit.calls.rows import ToolCall
from audit.models import Origin
from tools.handles import Log
from tools.network import redis
from tools.network.patience import within

log = logging.getLogger(__name__)

CHANNEL = "toolgate:logs"
# From the least to the most severe, as RFC 5424 has them.
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
# What is passed on of one call: messages, and bytes of their data together. What comes after that is not.
MAX_MESSAGES, MAX_BYTES = 100, 32 * 1024
MAX_LOGGER = 100
# What is said within this time is published together.
PAUSE_SECONDS = 0.1
# How long the end of a call waits until the last of it is published.
_LAST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Logged:
    """All that an execution of a call has said so far, each as (level, logger, data).

    `wake_up_id` names the call's run, or the call; `fence` the execution.
    """

    wake_up_id: uuid.UUID
    fence: int
    messages: list[tuple[str, str | None, Any]]

    def encoded(self) -> bytes:
        """As it is published."""
        return orjson.dumps([self.wake_up_id.hex, self.fence, self.messages])


def decoded(data: bytes) -> Logged:
    """What was published; raises ValueError, TypeError."""
    wake_up_id, fence, messages = orjson.loads(data)
    return Logged(uuid.UUID(wake_up_id), fence, [(level, logger, said) for level, logger, said in messages])


@asynccontextmanager
async def logging_of(call: ToolCall, *, heard: bool) -> AsyncIterator[Log]:
    """What a tool is given to say something about its call, to nobody unless it is `heard`; on leaving, what it said
    last is published."""
    if not heard or call.origin != Origin.MCP:
        yield _unheard
        return
    said = Logged(call.wake_up_id, call.fence, [])
    size = published = 0
    sender: asyncio.Task[None] | None = None

    async def send() -> None:
        nonlocal published
        while published < len(said.messages):
            published = len(said.messages)
            await _publish(said)
            await asyncio.sleep(PAUSE_SECONDS)

    def write(level: str, data: Any, logger: str | None = None) -> None:
        nonlocal size, sender
        try:
            size += len(orjson.dumps(data))
        except (TypeError, ValueError, RecursionError):
            return
        if level not in LEVELS or len(said.messages) >= MAX_MESSAGES or size > MAX_BYTES:
            return
        said.messages.append((level, logger[:MAX_LOGGER] if logger else None, data))
        if sender is None or sender.done():
            sender = asyncio.get_running_loop().create_task(send())

    try:
        yield write
    finally:
        if sender is not None:
            sender.cancel()
            # Whoever waits for the call is woken by its end, and has all of it by then.
            try:
                await within(_LAST_SECONDS, _publish(said))
            except TimeoutError:
                log.debug("log messages lost", extra={"call_id": str(call.id)})


def _unheard(level: str, data: Any, logger: str | None = None) -> None:
    """Nobody listens."""


async def _publish(said: Logged) -> None:
    try:
        await redis.client().publish(CHANNEL, said.encoded())
    except (RedisError, OSError, TimeoutError) as away:
        log.debug("log messages lost", extra={"why": type(away).__name__})
