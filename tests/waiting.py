"""Waiting for what other processes and tasks do: the one place where tests look again and again."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Only there to end a test that would wait for ever; no test measures by it. What takes one second of a processor takes
# ten beside two whole suites.
PATIENCE_SECONDS = 240.0
_BETWEEN_SECONDS = 0.02


def until(look: Callable[[], T], explain: Callable[[], object] = lambda: "") -> T:
    """What `look` answers once it is true. Raises TimeoutError, with what `explain` says, when it never is."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := look()):
        if time.monotonic() > end:
            raise TimeoutError(f"nothing after {PATIENCE_SECONDS:g} s; {explain()}")
        time.sleep(_BETWEEN_SECONDS)
    return found


async def eventually(look: Callable[[], T]) -> T:
    """`until`, with the looking done in a thread, so that this event loop goes on meanwhile."""
    return await asyncio.to_thread(until, look)
