"""How often a tenant's user may call a tool: fixed windows, counted by django-ratelimit in the shared cache.

The cache increments atomically, so several processes together never let more through than the limit.
"""

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from django_ratelimit.core import get_usage

# Threads of our own, because Django keeps a cache connection a thread, but a new one for each `asyncio.to_thread`.
_THREADS = ThreadPoolExecutor(4, thread_name_prefix="rate-limit")


class LimitsUnavailable(Exception):
    """The shared cache cannot be asked."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A counted call: `remaining` calls are left of `limit`, until the window ends in `reset` seconds."""

    allowed: bool
    limit: int
    remaining: int
    reset: int


def charge(*, tenant_id: uuid.UUID, user_id: uuid.UUID, tool: str, rate: str, count: bool = True) -> Charge:
    """Count one call, or with `count=False` only look; blocks on Redis.

    Raises LimitsUnavailable when Redis is away or does not answer in time.
    """
    try:
        usage: dict[str, Any] | None = get_usage(
            None, group=f"tool:{tool}", key=lambda group, request: f"{tenant_id}:{user_id}", rate=rate, increment=count
        )
    except Exception as error:
        raise LimitsUnavailable(type(error).__name__) from error
    if usage is None:
        raise LimitsUnavailable("the rate could not be counted")
    return Charge(
        allowed=not usage["should_limit"],
        limit=usage["limit"],
        remaining=max(0, usage["limit"] - usage["count"]),
        reset=usage["time_left"],
    )


async def charge_off_loop(**asked: Any) -> Charge:
    """`charge`, without blocking the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, partial(charge, **asked))
