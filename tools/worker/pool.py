"""Celery's pool in a worker: runs coroutines on the event loop, each once it has a slot.

Messages come from `tools.worker.intake`, on the loop; Celery's consumer brings what that leaves to it.

What has no slot yet waits here, unacknowledged, tenant by tenant (`tools.worker.slots`), so that the broker holds
what the worker cannot take, and hands it on when the worker is stopped. As with Celery's threads there are no results,
and no soft or hard time limits: a call's own limit ends it. Celery's signals of tasks are not sent.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from celery.concurrency.base import BasePool, apply_target
from kombu.serialization import loads

from tools.worker import background, broker
from tools.worker.background import Lane, Work
from tools.worker.intake import Intake, Taken
from tools.worker.slots import Slots

log = logging.getLogger(__name__)

# How long the end of the worker waits for a broker that hangs.
GIVING_BACK_SECONDS = 5.0
# How many of each a worker process runs at once. Local tools are as many as its concurrency: each has a connection to
# the database for as long as it runs.
SLOTS = {Lane.REMOTE: 512, Lane.RUNS: 512, Lane.DELIVERIES: 128, Lane.UPKEEP: 4}


@dataclass(frozen=True, slots=True)
class _Job:
    name: str
    arguments: tuple[str, ...]
    work: Work
    lane: Lane
    # Acknowledges the message.
    accept: Callable[[], None]
    # Celery's, which then forgets it.
    end: Callable[[tuple[int, None, float]], None] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """The same for a message that was sent again; a call's may be another task then."""
        return self.lane if self.lane in (Lane.LOCAL, Lane.REMOTE) else self.name, *self.arguments


class TaskPool(BasePool):
    """`--concurrency` is how many local tools run at once. Everything but `on_start` and `on_apply` is on the loop."""

    signal_safe = False
    body_can_be_buffer = True

    def on_start(self) -> None:
        """Start the event loop."""
        self._slots: dict[Lane, Slots[_Job]] = {lane: Slots(SLOTS.get(lane, self.limit)) for lane in Lane}
        self._waiting: set[tuple[object, ...]] = set()
        self._loop = background.loop()
        self._intake = Intake(self.app, self._take, self.limit * self.app.conf.worker_prefetch_multiplier)
        broker.taker = self._intake

    def on_stop(self) -> None:
        """Give back what waits, when the worker ends."""
        broker.taker = None
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._intake.give_back(), self._loop).result(GIVING_BACK_SECONDS)

    def _take(self, taken: Taken) -> None:
        accept = partial(self._intake.begun, taken)
        self._receive(_Job(taken.name, taken.arguments, taken.work, taken.lane, accept))

    def on_apply(
        self,
        target: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        callback: Any = None,
        accept_callback: Any = None,
        **options: Any,
    ) -> None:
        """Take a message in; a task that is none of `background.task` is Celery's own, and runs at once."""
        name, _, _, body, content_type, encoding = args
        task = self.app.tasks[name]
        if not hasattr(task, "work"):
            apply_target(target, args, kwargs, callback, accept_callback)
            return
        try:
            arguments = tuple(map(str, loads(body, content_type, encoding, accept={"application/json"})[0]))
        except Exception:
            log.exception("message of %s cannot be read", name)
            _accepted(accept_callback)
            callback((0, None, 0.0))
            return
        accept = partial(_accepted, accept_callback)
        job = _Job(name, arguments, task.work, task.lane, accept, callback)
        self._loop.call_soon_threadsafe(self._receive, job)

    def _receive(self, job: _Job) -> None:
        if job.key in self._waiting:
            # The sweeper sends again what has waited for long.
            job.accept()
            if job.end is not None:
                job.end((0, None, 0.0))
            return
        self._waiting.add(job.key)
        self._slots[job.lane].add(job.arguments[0] if job.arguments else job.name, job)
        self._start(job.lane)

    def _start(self, lane: Lane) -> None:
        """Start whatever gets a slot now."""
        while not background.is_draining() and (taken := self._slots[lane].take()) is not None:
            tenant, job = taken
            self._waiting.discard(job.key)
            job.accept()
            background.begin(self._run(tenant, job))

    async def _run(self, tenant: str, job: _Job) -> None:
        began = time.monotonic()
        try:
            await job.work(*job.arguments)
        except Exception:
            log.exception("%s left to the sweeper", job.name)
        finally:
            self._slots[job.lane].release(tenant)
            if job.end is not None:
                job.end((0, None, time.monotonic() - began))
            self._start(job.lane)


def _accepted(accept: Callable[[int, float], None]) -> None:
    accept(os.getpid(), time.monotonic())
