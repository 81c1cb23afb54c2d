"""How the floors without HTTP are timed: so many loops at once, for so long, in a process of their own."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

import orjson

WARM_SECONDS = 0.2


async def timed(once: Callable[[int], Awaitable[None]], concurrency: int, seconds: float) -> None:
    """Do `once` over and over in `concurrency` tasks, telling it which one; prints rate and latencies as JSON.

    On a machine so busy that none is done in time, the first that is done counts.
    """
    start = time.perf_counter() + WARM_SECONDS
    end = start + seconds
    latencies: list[float] = []

    async def repeat(number: int) -> None:
        while (began := time.perf_counter()) < end or not latencies:
            await once(number)
            now = time.perf_counter()
            if start <= now < end or (now >= end and not latencies):
                latencies.append(now - began)

    await asyncio.gather(*(repeat(number) for number in range(concurrency)))
    latencies.sort()
    rate, middle = len(latencies) / seconds, latencies[len(latencies) // 2] * 1000
    sys.stdout.buffer.write(orjson.dumps({"per_second": rate, "p50": middle}))
