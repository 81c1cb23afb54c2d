"""A worker process's event loop, on which everything that it does runs, hundreds of coroutines at once."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from enum import Enum
from typing import Any

import uvloop
from celery import Task, shared_task

from tools.invocation.live.leases import leases

Work = Callable[..., Coroutine[Any, Any, None]]


class Lane(Enum):
    """Kinds of tasks that never wait for each other: `tools.worker.pool` has slots for each."""

    LOCAL = "tools that do their work in our database"
    REMOTE = "tools that wait for somebody else"
    RUNS = "runs that lost their driver"
    DELIVERIES = "what people are sent"
    UPKEEP = "sweeping, sealing, tidying up"


_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_under_way: set[Future[Any]] = set()
_begun: set[asyncio.Task[Any]] = set()
_draining = False


def loop() -> asyncio.AbstractEventLoop:
    """The process's event loop, started in a thread of its own at first use."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = uvloop.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="event-loop", daemon=True).start()
            asyncio.run_coroutine_threadsafe(leases.keep(), _loop)
    return _loop


def task(name: str, lane: Lane) -> Callable[[Work], Work]:
    """Make a coroutine function a Celery task of that name; its arguments are strings, the first of them the tenant's
    id where it has any.

    `tools.worker.pool` runs it on the loop in a slot of its lane; any other pool of Celery's waits for it.
    """

    def declare(work: Work) -> Work:
        @shared_task(name=name, base=Task, work=staticmethod(work), lane=lane)
        def run(*arguments: str) -> None:
            submit(work(*arguments)).result()

        return work

    return declare


def submit(coroutine: Coroutine[Any, Any, Any], *, forever: bool = False) -> Future[Any]:
    """Start a coroutine on the loop; its future is for whoever wants to wait. `drain` waits for it unless `forever`."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop or loop())
    if forever:
        return future
    _under_way.add(future)
    future.add_done_callback(_under_way.discard)
    return future


def begin(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Start a coroutine from the loop itself, whose thread needs no waking for that; `drain` waits for it, too."""
    task = asyncio.get_running_loop().create_task(coroutine)
    _begun.add(task)
    task.add_done_callback(_begun.discard)


async def _all_ended() -> None:
    if _begun:
        await asyncio.wait(tuple(_begun))


def drain(seconds: float) -> None:
    """Wait for what is under way, up to so long, and start no task any more: a call that ends before its worker does
    needs no sweeper."""
    global _draining
    _draining = True
    under_way = tuple(_under_way)
    if _loop is not None:
        under_way += (asyncio.run_coroutine_threadsafe(_all_ended(), _loop),)
    wait(under_way, timeout=seconds)


def is_draining() -> bool:
    """Whether the process is about to end."""
    return _draining
