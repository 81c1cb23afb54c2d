"""A worker process's event loop: Celery's threads hand it coroutines, and it runs hundreds of them at once.

A transactional tool keeps its Celery thread until it is done, so the broker holds what the worker cannot
take yet. A remote-bound one gives its thread back at once and waits on the loop instead, so that remotes
that answer slowly never keep local tools waiting.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from typing import Any

import uvloop

from tools.invocation.leases import leases

# Remote-bound calls that one worker process waits for at once; more wait unclaimed.
REMOTE_CALLS = 512
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_remote_slots: asyncio.Semaphore | None = None
_under_way: set[Future[Any]] = set()


def loop() -> asyncio.AbstractEventLoop:
    """The process's event loop, started in a thread of its own at first use."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = uvloop.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="event-loop", daemon=True).start()
            asyncio.run_coroutine_threadsafe(leases.keep(), _loop)
    return _loop


def submit(coroutine: Coroutine[Any, Any, Any], *, forever: bool = False) -> Future[Any]:
    """Start a coroutine on the loop; its future is for whoever wants to wait. `drain` waits for it unless `forever`."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop or loop())
    if forever:
        return future
    _under_way.add(future)
    future.add_done_callback(_under_way.discard)
    return future


def drain(seconds: float) -> None:
    """Wait for what is under way, up to so long: a call that ends before its worker does needs no sweeper."""
    wait(tuple(_under_way), timeout=seconds)


async def in_remote_slot(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Run the coroutine when fewer than REMOTE_CALLS others are under way."""
    global _remote_slots
    _remote_slots = _remote_slots or asyncio.Semaphore(REMOTE_CALLS)
    async with _remote_slots:
        await coroutine
