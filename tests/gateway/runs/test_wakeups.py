"""Waiting for what other processes do to a run."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.config import asgi
from gateway.process import gc_tuning
from gateway.runs import loop, preparation, repository
from gateway.runs.execution import RunExecution, RunLost
from gateway.runs.lifecycle import beginning, driving, following
from gateway.runs.preparation import ChatRequest
from gateway.runs.rows import RunEnd
from gateway.runs.watching import wakeups as watching
from gateway.runs.watching.wakeups import MOST_MISSED, Waits, waits
from tenants.scope.transactions import TenantScope, transaction
from tests.people import Cast
from tests.waiting import PATIENCE_SECONDS
from tools.invocation.live import logs, wakeups
from tools.invocation.live.logs import Logged
from tools.invocation.live.wakeups import WakeUp
from tools.network import redis


async def _woken_by_a_hint(run_id: uuid.UUID, wake_up: asyncio.Event) -> None:
    # Nobody hears what is said before the subscription stands.
    while not wake_up.is_set():
        await wakeups.publish(run_id)
        await asyncio.sleep(0.01)


async def test_a_waiter_is_woken_by_a_hint_and_forgotten_when_it_leaves() -> None:
    run_id = uuid.uuid4()
    with waits().for_run(run_id) as wake_up:
        await _woken_by_a_hint(run_id, wake_up)
    assert run_id not in waits()._events


async def test_only_the_runs_own_waiters_are_woken() -> None:
    mine, other = uuid.uuid4(), uuid.uuid4()
    with waits().for_run(mine) as wake_up, waits().for_run(mine) as too, waits().for_run(other) as sleeping:
        await _woken_by_a_hint(mine, wake_up)
        assert too.is_set()
        assert not sleeping.is_set()


async def test_a_waiter_is_woken_by_the_rows_when_the_hint_was_lost(tenant: Cast) -> None:
    view = await beginning.begin(tenant.alice.principal, ChatRequest("hello"))
    await following.until_rest(tenant.alice.scope, view)
    async with asyncio.timeout(PATIENCE_SECONDS):
        with waits().for_run(view.id) as wake_up:
            await wake_up.wait()


async def test_who_watches_a_run_that_this_process_drives_goes_on_to_watch_it_when_the_drive_ends(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ended elsewhere while it was driven here: no hint comes any more, and nobody polls."""
    found, driven, let_go = Waits(), asyncio.Event(), asyncio.Event()
    found._tasks = [asyncio.create_task(asyncio.sleep(0))]
    found.relay.receive(None)

    async def drive(execution: RunExecution) -> None:
        driven.set()
        await let_go.wait()
        raise RunLost

    async def unheard(run_id: uuid.UUID) -> None:
        pass

    for module in (driving, following):
        monkeypatch.setattr(module, "waits", lambda: found)
    monkeypatch.setattr(loop, "drive", drive)
    monkeypatch.setattr(wakeups, "publish", unheard)
    view = await beginning.begin(tenant.alice.principal, ChatRequest("hello"))
    resting = asyncio.create_task(following.until_rest(tenant.alice.scope, view))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await driven.wait()
        await _let_run()
        # While this process drives it, nobody follows it.
        assert found._events == {}
        async with transaction(tenant.alice.scope) as connection:
            await repository.finish(connection, view.run, RunEnd("completed", "said elsewhere"))
        assert not resting.done()
        let_go.set()
        assert await resting
    assert view.run.status == "completed"
    await _let_run()
    assert found._events == {}


async def test_who_begins_to_wait_a_moment_after_the_hint_is_woken_by_it_once() -> None:
    found, call_id, others = Waits(), uuid.uuid4(), [uuid.uuid4() for _ in range(MOST_MISSED)]
    found._tasks = [asyncio.create_task(asyncio.sleep(0))]
    found.wake(call_id)
    with found.for_run(call_id) as wake_up:
        assert wake_up.is_set()
    with found.for_run(call_id) as again:
        assert not again.is_set()
        # Somebody waits for this one.
        found.wake(call_id)
    with found.for_run(call_id) as again:
        assert not again.is_set()
    found.wake(call_id)
    for each in others:
        found.wake(each)
    with found.for_run(call_id) as late, found.for_run(others[0]) as in_time:
        assert (late.is_set(), in_time.is_set()) == (False, True)


async def _let_run() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_hints_are_gathered_until_there_are_as_many_as_are_expected() -> None:
    wake_up = WakeUp()
    gathering = asyncio.create_task(wake_up.gathered(3, PATIENCE_SECONDS))
    for _ in range(3):
        await _let_run()
        assert not gathering.done()
        wake_up.set()
    await gathering
    assert wake_up.is_set()
    wake_up.clear()
    again = asyncio.create_task(wake_up.gathered(1, PATIENCE_SECONDS))
    await _let_run()
    assert not again.done()
    wake_up.set()
    await again


async def test_hints_that_do_not_come_are_waited_for_no_longer_than_they_may_be() -> None:
    wake_up = WakeUp()
    gathering = asyncio.create_task(wake_up.gathered(3, 0))
    await _let_run()
    # Nothing is gathered before the first one.
    assert not gathering.done()
    wake_up.set()
    await gathering
    assert wake_up.is_set()


async def test_who_stops_waiting_stops_gathering() -> None:
    wake_up = WakeUp()
    wake_up.set()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await wake_up.gathered(2, PATIENCE_SECONDS)


async def test_listening_ends_at_once_when_it_is_told_to_at_any_moment() -> None:
    """A process that ends cancels its tasks once and waits for them: one that swallows that keeps it for ever."""
    late = []
    for switches in range(40):
        task = asyncio.create_task(_listen())
        for _ in range(switches):
            await asyncio.sleep(0)
        task.cancel()
        _, still = await asyncio.wait([task], timeout=PATIENCE_SECONDS)
        if still:
            late.append(switches)
            task.cancel()
            await asyncio.wait([task])
        await redis.close()
    assert late == []


async def _listen() -> None:
    async for _ in wakeups.listen():
        pass


@asynccontextmanager
async def _started(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Waits]:
    """A web process that has just begun to serve, as far as it listens to others; nothing of it is closed."""
    found, serves, asked = Waits(), asyncio.Event(), iter([{"type": "lifespan.startup"}])

    async def receive() -> dict[str, Any]:
        for message in asked:
            return message
        return await asyncio.Future()

    async def send(message: Any) -> None:
        assert message == {"type": "lifespan.startup.complete"}
        serves.set()

    monkeypatch.setattr(watching, "waits", lambda: found)
    monkeypatch.setattr(gc_tuning, "settle", lambda: None)
    process = asyncio.create_task(asgi.application({"type": "lifespan"}, receive, send))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await serves.wait()
        yield found
    finally:
        for task in (process, *found._tasks):
            task.cancel()
        await asyncio.wait([process, *found._tasks])


async def test_a_web_process_hears_what_calls_say_before_it_serves_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first call may have said something, and ended, before the process begins to wait for it."""
    first, later = (Logged(uuid.uuid4(), 1, [("info", None, said)]) for said in ("first", "later"))
    read: list[Logged] = []
    last = asyncio.Event()
    async with _started(monkeypatch) as found:
        await redis.client().publish(logs.CHANNEL, first.encoded())
        reading = found.reading_logs(later.wake_up_id, lambda _: last.set())
        with found.reading_logs(first.wake_up_id, read.append), reading:
            while not last.is_set():
                await redis.client().publish(logs.CHANNEL, later.encoded())
                await asyncio.sleep(0.01)
    assert read == [first]


async def test_a_web_process_serves_although_redis_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(*channels: str) -> AsyncIterator[tuple[str, bytes | None]]:
        await asyncio.Future()
        yield "", None

    monkeypatch.setattr(wakeups, "listen", silent)
    monkeypatch.setattr(watching, "LISTENING_SECONDS", 0.0)
    async with _started(monkeypatch) as found:
        assert not found.relay.subscribed.is_set()


async def test_a_process_takes_no_run_over_before_it_hears_how_its_calls_end(monkeypatch: pytest.MonkeyPatch) -> None:
    found, opened = Waits(), asyncio.Event()
    found._tasks = [asyncio.create_task(asyncio.sleep(0))]

    async def reopen(scope: TenantScope, run_id: uuid.UUID) -> None:
        opened.set()

    monkeypatch.setattr(driving, "waits", lambda: found)
    monkeypatch.setattr(preparation, "reopen", reopen)
    # As long as the test needs.
    monkeypatch.setattr(watching, "LISTENING_SECONDS", PATIENCE_SECONDS)
    taking = asyncio.create_task(driving.take_over(TenantScope(uuid.uuid4(), uuid.uuid4()), uuid.uuid4()))
    await _let_run()
    assert not opened.is_set()
    found.relay.receive(None)
    await taking
    assert opened.is_set()
