"""Hints from whoever changed a run or a call to whoever waits for it. Never the truth: a lost one costs seconds."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress

from redis.exceptions import RedisError

from tools.network import redis, subscription
from tools.network.subscription import Heard

log = logging.getLogger(__name__)

CHANNEL = "toolgate:hints"


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


def listen(*more: str) -> AsyncIterator[Heard]:
    """What is published on CHANNEL and on `more` channels, for ever; as `subscription.listen`."""
    return subscription.listen(CHANNEL, *more)
