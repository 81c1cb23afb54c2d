"""Runs as they are shown to whoever looks at them or waits for them, whoever drives them.

A run that this process drives is its live view, which its driver changes. Any other is read from its rows, and again
with each wake-up; what its driver streams meanwhile comes through the relay.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import psycopg

from gateway.runs import reading
from gateway.runs.children import below
from gateway.runs.errors import NoSuchRun
from gateway.runs.lifecycle.driving import driven_here
from gateway.runs.view import RunView, from_rows, refresh
from gateway.runs.watching.wakeups import POLL_SECONDS, waits
from tenants.scope.transactions import TenantScope, transaction

log = logging.getLogger(__name__)

# Of a run that nobody had been told of when the database crashed; see `repository.begin`.
_LOST: dict[str, Any] = {
    "status": "failed",
    "error_code": "run_lost",
    "error_message": "The database failed before this run was on disk. None of its tools has acted: send it again.",
    "error_status": 503,
    "turns": 0,
}


async def look(scope: TenantScope, run_id: uuid.UUID) -> RunView:
    """The user's run as it is now: the live view when this process drives it, else its rows. Raises NoSuchRun."""
    held = driven_here.get(run_id)
    if held is not None and (held.view.run.tenant_id, held.view.run.user_id) == scope:
        return held.view
    # In one moment, since somebody may be driving it.
    async with transaction(scope, snapshot=True) as connection:
        run = await reading.run(connection, scope, run_id)
        if run is None:
            raise NoSuchRun(run_id)
        view = from_rows(run, await reading.turns(connection, run_id), await reading.calls(connection, run_id))
        await below.fill(connection, scope, view)
        return view


@asynccontextmanager
async def watching(scope: TenantScope, view: RunView) -> AsyncIterator[asyncio.Event]:
    """An event that is set whenever the view has changed, whoever drives the run."""
    with view.watched() as changed:
        following = _Following(scope, view)
        try:
            yield changed
        finally:
            following.end()


class _Following:
    """A view that is kept true whenever another process drives its run; while this one does, that is not needed."""

    def __init__(self, scope: TenantScope, view: RunView):
        self._scope, self._view = scope, view
        self._follower: asyncio.Task[None] | None = None
        held = driven_here.get(view.id)
        self._driver = held.task if held is not None and held.view is view else None
        if self._driver is not None and not self._driver.done():
            self._driver.add_done_callback(self._driven)
        else:
            self._follower = asyncio.create_task(_follow(scope, view))

    def _driven(self, _: "asyncio.Task[None]") -> None:
        """The drive has ended; its run may go on elsewhere."""
        if not self._view.final:
            self._follower = asyncio.create_task(_follow(self._scope, self._view, anew=True))

    def end(self) -> None:
        """Nobody watches the view any more."""
        if self._driver is not None:
            self._driver.remove_done_callback(self._driven)
        if self._follower is not None:
            self._follower.cancel()


async def _follow(scope: TenantScope, view: RunView, *, anew: bool = False) -> None:
    """Keep a view true while another process drives its run; `anew`: this one has driven it up to now, and wake-ups may
    have come that only the drive has seen."""
    relay = waits().relay
    with waits().for_run(view.id) as wake_up, ExitStack() as following:
        if anew:
            wake_up.set()
        passed_on = False
        while not view.final:
            held = driven_here.get(view.id)
            if held is not None and held.view is view:
                await asyncio.wait([held.task])
                # One that waits for its children may have humans to wait for by now.
                if view.parked and not view.suspended:
                    continue
            else:
                if not passed_on:
                    passed_on = True
                    following.enter_context(relay.following(view))
                await wake_up.wait()
            wake_up.clear()
            if view.final:
                return
            fence = view.run.fence
            try:
                fresh = await look(scope, view.id)
                refresh(view, fresh, relay.under_way(view.id) if view.id not in driven_here else None)
            except NoSuchRun:
                log.warning("run gone", extra={"run_id": str(view.id)})
                view.run, view.turns = replace(view.run, **_LOST), []
                view.changed()
            except Exception as error:
                if not isinstance(error, psycopg.OperationalError):
                    log.exception("run not followed", extra={"run_id": str(view.id)})
                # What was not seen may have been the last change, of which no other wake-up comes.
                await asyncio.sleep(POLL_SECONDS)
                wake_up.set()
            if passed_on and view.run.fence != fence:
                # Its new driver does not know yet who watches.
                relay.ask()


class Patience:
    """How long a client still waits for humans, from when the run first waits for nothing else."""

    def __init__(self, seconds: float):
        self._seconds = seconds
        self._until: float | None = None

    def left(self, view: RunView) -> float | None:
        """Seconds that are left; None while the run does not wait for humans."""
        if not view.suspended:
            return None
        now = time.monotonic()
        self._until = self._until or now + self._seconds
        return max(0.0, self._until - now)


async def until_rest(
    scope: TenantScope, view: RunView, wait: float = 0, gone: "asyncio.Task[None] | None" = None
) -> bool:
    """Return when the run is over, or has waited for humans for `wait` seconds. False: before that, `gone` was done."""
    patience = Patience(wait)
    if view.final or patience.left(view) == 0:
        return True
    async with watching(scope, view) as changed:
        if gone is not None:
            gone.add_done_callback(lambda _: changed.set())
        while not view.final and (left := patience.left(view)) != 0:
            if gone is not None and gone.done():
                return False
            if left is None:
                await changed.wait()
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await changed.wait()
            changed.clear()
    return True
