"""How long others may take: what this process itself takes meanwhile does not count."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

Result = TypeVar("Result")
_PARTS = 20


async def within(seconds: float, work: Awaitable[Result]) -> Result:
    """What `work` returns; it is cancelled when its time is over, and when who waits for it is cancelled.

    The time is waited for in parts. While the event loop stands still, one of them is over, however long that lasts.
    Raises TimeoutError when all are over.
    """
    working = asyncio.ensure_future(work)
    try:
        for _ in range(_PARTS):
            done, _ = await asyncio.wait({working}, timeout=seconds / _PARTS)
            if done:
                return working.result()
        raise TimeoutError
    finally:
        if not working.done():
            working.cancel()
            working.add_done_callback(_noticed)


def _noticed(working: asyncio.Future[Any]) -> None:
    """Nobody waits for it any more; it may end otherwise, although it was cancelled."""
    if not working.cancelled():
        working.exception()
