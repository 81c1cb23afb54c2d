"""Runs as the API and the workers see them: begin one, watch one, take one over, cancel one.

A run that this process drives lives in `_driven_here`, as a task of its own: a client that goes away stops
nothing. Any other run is watched through its rows.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any

import psycopg
from django.conf import settings

from audit.calls.recorder import Failure
from audit.calls.rows import ToolCall
from gateway.runs import loop, metrics, preparation
from gateway.runs import repository as records
from gateway.runs.children import below, cancelling, waking
from gateway.runs.children.starting import ChildrenOfCall
from gateway.runs.conversations.sessions import SessionsOfCall
from gateway.runs.errors import ConversationBusy, IdempotencyMismatch, NoSuchRun
from gateway.runs.execution import RunExecution, RunLost
from gateway.runs.preparation import ChatRequest
from gateway.runs.rows import RunEnd
from gateway.runs.view import RunView, from_rows, refresh
from gateway.runs.watching.wakeups import POLL_SECONDS, waits
from tenants.errors import Refused
from tenants.people.principal import Principal
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.gates.interface import RightsChanged
from tools.invocation.dispatch import request_takeover
from tools.invocation.in_worker import execution as invocation
from tools.invocation.live import wakeups
from tools.invocation.live.leases import Leases
from tools.invocation.once import idempotency

log = logging.getLogger(__name__)

leases = Leases("SELECT renew_run_leases(%s, %s, %s) AS id")
# How long a driver that takes a run over waits for Redis before it says so.
_ANNOUNCED_SECONDS = 1.0
# How long a driver that has ended its run may take to tell of that, where its run is cancelled.
_TOLD_SECONDS = 1.0
_driven_here: dict[uuid.UUID, tuple[RunView, asyncio.Task[None]]] = {}
_keeper: asyncio.Task[None] | None = None
_background: set[asyncio.Task[None]] = set()


def _scope(principal: Principal) -> TenantScope:
    return TenantScope(principal.tenant_id, principal.user_id)


async def begin(
    principal: Principal, request: ChatRequest, anew: Callable[[], Awaitable[Principal]] | None = None
) -> RunView:
    """Write the user's message and the run, and start driving it; the run of an earlier request with the same key is
    that run.

    `anew` authenticates again, for a principal that was remembered: nothing is begun, answered or refused by one who
    has changed. Raises NoSuchConversation, NoSuchAgent, NoSuchModel, ConversationBusy, IdempotencyMismatch,
    BudgetExhausted, ModelUnpriced.
    """
    try:
        return await _begin(principal, request)
    except (RightsChanged, Refused):
        if principal.version is None or anew is None:
            raise
    return await _begin(await anew(), request)


async def _begin(principal: Principal, request: ChatRequest) -> RunView:
    scope = _scope(principal)
    try:
        execution = await preparation.open(scope, request, principal.version, principal.key_id)
    except psycopg.errors.UniqueViolation as taken:
        return await _earlier(scope, request, taken)
    _start(execution)
    return execution.view


async def _earlier(scope: TenantScope, request: ChatRequest, taken: psycopg.errors.UniqueViolation) -> RunView:
    """The run that took the idempotency key, if that is what was taken."""
    if request.idempotency_key is not None:
        async with transaction(scope) as connection:
            run = await records.run_by_key(connection, scope, request.idempotency_key)
        if run is not None:
            if run.request_hash != request.request_hash:
                raise IdempotencyMismatch
            return await look(scope, run.id)
    if taken.diag.constraint_name == "runs_one_open":
        raise ConversationBusy
    if taken.diag.constraint_name == idempotency.CONSTRAINT:
        # It began a call without a chat.
        raise IdempotencyMismatch
    raise taken


# --- driving ---------------------------------------------------------------------------------------------------------
def _start(execution: RunExecution, *, again: bool = False) -> None:
    """Drive the run in a task of its own, its lease kept alive; `again`: somebody else drove it before."""
    global _keeper
    if _keeper is None or _keeper.done() or _keeper.get_loop() is not asyncio.get_running_loop():
        leases.on_lost = _stop
        _keeper = asyncio.create_task(leases.keep())
    task = asyncio.create_task(_drive(execution, again))
    _driven_here[execution.view.id] = (execution.view, task)


def _stop(run_id: uuid.UUID) -> None:
    """The lease is somebody else's by now: stop at once."""
    if run_id in _driven_here:
        _driven_here[run_id][1].cancel()


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
        if view.id in _driven_here and _driven_here[view.id][0] is view:
            del _driven_here[view.id]
        metrics.DRIVEN.dec()
        if view.final:
            metrics.ended(view, time.monotonic() - began)
        view.changed()
        if watched:
            await wakeups.publish(view.id)


async def take_over(scope: TenantScope, run_id: uuid.UUID) -> None:
    """Drive a run that nobody holds, from its rows; without effect when somebody does, or when it waits for humans."""
    execution = await preparation.reopen(scope, run_id)
    if execution is not None:
        log.info("run taken over", extra={"run_id": str(run_id)})
        _start(execution, again=True)
        task = _driven_here[run_id][1]
        await _announced(run_id)
        await asyncio.wait([task])


def drive(scope: TenantScope, run_id: uuid.UUID) -> None:
    """Take a run over in this process, as `take_over` does, without waiting for it."""
    _in_background(take_over(scope, run_id))


class ChildrenOfRuns:
    """See `tools.invocation.ports.Children`."""

    def of_call(self, connection: Connection, call: ToolCall) -> ChildrenOfCall:
        """Good for one child."""
        return ChildrenOfCall(connection, call)

    def sessions(self, connection: Connection, call: ToolCall) -> SessionsOfCall:
        """Good for one call."""
        return SessionsOfCall(connection, call)

    def begin(self, scope: TenantScope, call_id: uuid.UUID, *, again: bool) -> None:
        """What fails here is left to the sweeper, like a call that no worker takes and a run that nobody drives."""
        _in_background(_begin_child(scope, call_id, again))


async def _begin_child(scope: TenantScope, call_id: uuid.UUID, again: bool) -> None:
    child_id = await invocation.execute(*scope, call_id, claims=again)
    if child_id is not None:
        await take_over(scope, child_id)


def _in_background(work: Coroutine[Any, Any, None]) -> None:
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


async def _announced(run_id: uuid.UUID) -> None:
    """Have whoever watches the run look at it, and say to its new driver that they watch."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_ANNOUNCED_SECONDS):
            await waits().relay.subscribed.wait()
    await wakeups.publish(run_id)


async def release_all() -> None:
    """Stop driving, as when the process ends, and ask the workers to go on with every run at once."""
    held = list(_driven_here.values())
    for _, task in held:
        task.cancel()
    for view, task in held:
        await asyncio.wait([task], timeout=1)
        if view.final:
            continue
        with suppress(Exception):
            async with transaction(TenantScope(view.run.tenant_id, view.run.user_id)) as connection:
                await records.release(connection, view.run)
            await request_takeover(view.run.tenant_id, view.run.user_id, view.id)


# --- watching --------------------------------------------------------------------------------------------------------
async def look(scope: TenantScope, run_id: uuid.UUID) -> RunView:
    """The user's run as it is now: the live view when this process drives it, else its rows. Raises NoSuchRun."""
    held = _driven_here.get(run_id)
    if held is not None and (held[0].run.tenant_id, held[0].run.user_id) == scope:
        return held[0]
    # In one moment, since somebody may be driving it.
    async with transaction(scope, snapshot=True) as connection:
        run = await records.run(connection, scope, run_id)
        if run is None:
            raise NoSuchRun(run_id)
        view = from_rows(run, await records.turns(connection, run_id), await records.calls(connection, run_id))
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
        held = _driven_here.get(view.id)
        self._driver = held[1] if held is not None and held[0] is view else None
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
            held = _driven_here.get(view.id)
            if held is not None and held[0] is view:
                await asyncio.wait([held[1]])
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
                refresh(view, fresh, relay.under_way(view.id) if view.id not in _driven_here else None)
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


async def cancel(scope: TenantScope, run_id: uuid.UUID) -> RunView:
    """End an open run and every run below it: calls that nobody has begun never begin; one that runs ends by itself and
    is recorded.

    A run that is over stays as it is. Raises NoSuchRun.
    """
    stopped = Failure("cancelled", "The run was cancelled.", display="The run was cancelled before it began.")
    async with transaction(scope) as connection:
        cancelled = await cancelling.tree(connection, scope, run_id, stopped)
    if run_id in _driven_here and run_id not in cancelled.run_ids:
        # It was over before: its driver still tells of that, or does not know it.
        await asyncio.wait([_driven_here[run_id][1]], timeout=_TOLD_SECONDS)
    if driven := [_driven_here[each][1] for each in (run_id, *cancelled.run_ids) if each in _driven_here]:
        for task in driven:
            task.cancel()
        await asyncio.wait(driven)
    if run_id not in cancelled.run_ids:
        await wakeups.publish(run_id)
    await waking.cancelled(scope, cancelled)
    return await look(scope, run_id)


waking.connect(drive)
