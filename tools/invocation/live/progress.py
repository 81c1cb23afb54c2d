"""How far calls are, from the worker that runs them to whoever follows them: never stored, and lost without harm."""

import asyncio
import logging
import math
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeGuard

import orjson
from redis.exceptions import RedisError

from audit.calls.rows import ToolCall
from audit.models import Origin
from tools.handles import Report
from tools.network import redis

log = logging.getLogger(__name__)

CHANNEL = "toolgate:progress"
# Of what a call says in between, the last is sent.
PAUSE_SECONDS = 0.2
MAX_MESSAGE = 500
_sending: set["asyncio.Task[None]"] = set()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a call is: `total` is None where nobody knows it. `wake_up_id` names its run, or the call itself.

    `began`: a worker has begun it, and its tool has said nothing yet.
    """

    wake_up_id: uuid.UUID
    call_id: uuid.UUID
    progress: float
    total: float | None
    message: str | None
    began: bool = False

    def encoded(self) -> bytes:
        """As it is published."""
        said = self.progress, self.total, self.message, self.began
        return orjson.dumps([self.wake_up_id.hex, self.call_id.hex, *said])


def decoded(data: bytes) -> Progress:
    """What was published; raises ValueError, TypeError."""
    wake_up_id, call_id, progress, total, message, *began = orjson.loads(data)
    return Progress(uuid.UUID(wake_up_id), uuid.UUID(call_id), progress, total, message, began == [True])


async def begun(call: ToolCall) -> None:
    """Say that a call without a run has begun, to the MCP client that follows it; nobody else follows such a call, and
    nobody has to look at its row for that."""
    if call.origin == Origin.MCP:
        await _publish(Progress(call.wake_up_id, call.id, 0.0, None, None, began=True))


@contextmanager
def reporting(call: ToolCall) -> Iterator[Report]:
    """What a tool is given to say how far its call is; it may say it as often as it likes."""
    waiting: list[Progress] = []
    sender: asyncio.Task[None] | None = None

    async def send() -> None:
        while waiting:
            await _publish(waiting.pop())
            await asyncio.sleep(PAUSE_SECONDS)

    def report(progress: float, total: float | None = None, message: str | None = None) -> None:
        nonlocal sender
        said = _sound(call, progress, total, message)
        if said is None:
            return
        waiting[:] = [said]
        if sender is None or sender.done():
            sender = asyncio.get_running_loop().create_task(send())
            _sending.add(sender)
            sender.add_done_callback(_sending.discard)

    try:
        yield report
    finally:
        # Its end is said by its row.
        waiting.clear()


def _sound(call: ToolCall, progress: object, total: object, message: object) -> Progress | None:
    """What can be passed on of a remote's words; None for what is no number."""
    if not _number(progress):
        return None
    text = "".join(each if each.isprintable() else " " for each in message[:MAX_MESSAGE]) if _text(message) else None
    return Progress(call.wake_up_id, call.id, progress, total if _number(total) else None, text)


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)


async def _publish(said: Progress) -> None:
    try:
        await redis.client().publish(CHANNEL, said.encoded())
    except (RedisError, OSError, TimeoutError) as away:
        log.debug("progress lost", extra={"call_id": str(said.call_id), "why": type(away).__name__})
