"""Hints from whoever changed a run or a call to whoever waits for it. Never the truth: a lost one costs seconds."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress

from redis.exceptions import RedisError

from tools.network import redis
from tools.network.subscription import Subscription

log = logging.getLogger(__name__)

CHANNEL = "toolgate:hints"
_BACK_OFF = 0.5


class WakeUp(asyncio.Event):
    """An event that knows how often it was set since it was cleared."""

    def __init__(self) -> None:
        super().__init__()
        self._times = 0

    def set(self) -> None:
        """Wake whoever waits."""
        self._times += 1
        super().set()

    def clear(self) -> None:
        """Count anew."""
        self._times = 0
        super().clear()

    async def gathered(self, times: int, seconds: float) -> None:
        """Wait until it is set, and from then on for so many seconds at most until it was set so many times.

        The number is a guess: any wake-up counts, and one may be lost.
        """
        await self.wait()
        if self._times >= times:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._times < times:
                    super().clear()
                    await self.wait()
        super().set()


async def publish(run_id: uuid.UUID) -> None:
    """Say that a run, or a call without a run, changed; Redis being away is nobody's error."""
    try:
        await redis.ask("PUBLISH", CHANNEL, run_id.bytes)
    except (RedisError, OSError, TimeoutError) as away:
        log.warning("wake-up lost", extra={"run_id": str(run_id), "why": type(away).__name__})


def _heed_cancellation() -> None:
    """redis-py swallows a cancellation that arrives while it connects; waiting on would then never end."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def listen(*more: str) -> AsyncIterator[tuple[str, bytes | None]]:
    """What is published on CHANNEL and on `more` channels, for ever: (channel, data).

    Data is None when the channel is subscribed to; so it is again after Redis went away and came back.
    """
    while True:
        heard: Subscription | None = None
        try:
            heard = Subscription(await redis.connection_of(redis.client()), CHANNEL, *more)
            _heed_cancellation()
            while True:
                yield await heard.next()
        except (RedisError, OSError, TimeoutError):
            await asyncio.sleep(_BACK_OFF)
        finally:
            if heard is not None:
                heard.close()
