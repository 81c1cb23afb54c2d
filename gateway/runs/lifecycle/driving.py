"""The runs that this process drives, and how it comes to drive one that nobody drives.

Each is driven by a task of its own, with a lease that is kept alive: a client that goes away stops nothing, and whoever
has the lease next stops the task. `driven_here` is the registry of them: written here alone, read by those who follow
or stop a run. A parked run has no driver; who moves it takes it over in this process (`waking`), or asks a worker to.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, NamedTuple

import psycopg
from django.conf import settings

from gateway.runs import loop, metrics, preparation
from gateway.runs.children import waking
from gateway.runs.execution import RunExecution, RunLost
from gateway.runs.rows import RunEnd
from gateway.runs.view import RunView
from gateway.runs.watching.wakeups import waits
from tenants.scope.transactions import TenantScope
from tools.invocation.live import wakeups
from tools.invocation.live.leases import Leases

log = logging.getLogger(__name__)

leases = Leases("SELECT renew_run_leases(%s, %s, %s) AS id")


class Driven(NamedTuple):
    """A run that is driven here: its live view, and the task that drives it."""

    view: RunView
    task: asyncio.Task[None]


# By the run's id.
driven_here: dict[uuid.UUID, Driven] = {}
_keeper: asyncio.Task[None] | None = None
_background: set[asyncio.Task[None]] = set()


def start(execution: RunExecution, *, again: bool = False) -> None:
    """Drive the run in a task of its own, its lease kept alive; `again`: somebody else drove it before."""
    global _keeper
    if _keeper is None or _keeper.done() or _keeper.get_loop() is not asyncio.get_running_loop():
        leases.on_lost = _stop
        _keeper = asyncio.create_task(leases.keep())
    task = asyncio.create_task(_drive(execution, again))
    driven_here[execution.view.id] = Driven(execution.view, task)


def _stop(run_id: uuid.UUID) -> None:
    """The lease is somebody else's by now: stop at once."""
    if run_id in driven_here:
        driven_here[run_id].task.cancel()


async def _drive(execution: RunExecution, again: bool) -> None:
    view = execution.view
    relay = waits().relay
    began = time.monotonic()
    metrics.DRIVEN.inc()
    # Who watched it with its last driver does not watch this view.
    watched = again or settings.TOOLGATE_PROCESS != "web" or settings.WEB_CONCURRENCY > 1
    try:
        with leases.held(view.id, view.run.fence), relay.driving(view):
            try:
                await loop.drive(execution)
            finally:
                watched = watched or relay.watched(view.id)
    except (RunLost, asyncio.CancelledError):
        log.info("run released", extra={"run_id": str(view.id)})
    except psycopg.OperationalError as away:
        log.warning("run left to the sweeper", extra={"run_id": str(view.id), "why": type(away).__name__})
    except Exception:
        log.exception("run crashed", extra={"run_id": str(view.id)})
        failed = RunEnd.failed(
            "internal_error", "Toolgate failed to go on with this run. The failure was recorded.", 500
        )
        with suppress(Exception):
            await loop.end(execution, failed)
    finally:
        # It may be driven here again by now.
        if view.id in driven_here and driven_here[view.id].view is view:
            del driven_here[view.id]
        metrics.DRIVEN.dec()
        if view.final:
            metrics.ended(view, time.monotonic() - began)
        view.changed()
        if watched:
            await wakeups.publish(view.id)


async def take_over(scope: TenantScope, run_id: uuid.UUID) -> None:
    """Drive a run that nobody holds, from its rows; without effect when somebody does, or when it waits for humans."""
    # The ends of its calls are heard, and what its watchers answer.
    await waits().listening()
    execution = await preparation.reopen(scope, run_id)
    if execution is not None:
        log.info("run taken over", extra={"run_id": str(run_id)})
        start(execution, again=True)
        task = driven_here[run_id].task
        # Whoever watches the run looks at it, and says to its new driver that they watch.
        await wakeups.publish(run_id)
        await asyncio.wait([task])


def take_over_soon(scope: TenantScope, run_id: uuid.UUID) -> None:
    """Take a run over in this process, as `take_over` does, without waiting for it."""
    in_background(take_over(scope, run_id))


def in_background(work: Coroutine[Any, Any, None]) -> None:
    """Have something done in a task of its own; what fails of it is left to the sweeper."""
    task = asyncio.create_task(_left_to_sweeper(work))
    _background.add(task)
    task.add_done_callback(_background.discard)


async def _left_to_sweeper(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except psycopg.OperationalError as away:
        log.warning("left to the sweeper", extra={"why": type(away).__name__})
    except Exception:
        log.exception("left to the sweeper")


waking.connect(take_over_soon)
