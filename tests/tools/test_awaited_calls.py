"""Waiting for a call without a chat: looked at when it may have changed, and not before."""

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from audit.calls.rows import ToolCall
from tenants.scope.transactions import TenantScope
from tests.gateway.runs.rows import call_row
from tests.waiting import PATIENCE_SECONDS
from tools.invocation import invoke, ports
from tools.invocation.live.wakeups import WakeUp

CALLER = TenantScope(uuid.uuid4(), uuid.uuid4())


class _Watched:
    """A call whose row is played, and the looks at it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, status: str) -> None:
        self.row: ToolCall = call_row(1, 0, status)
        self.looks: list[str] = []
        self.changed = WakeUp()
        monkeypatch.setattr(invoke.reading, "look", self._look)
        monkeypatch.setattr(ports, "watch", self._watch)

    async def _look(self, scope: TenantScope, call_id: uuid.UUID) -> ToolCall:
        assert (scope, call_id) == (CALLER, self.row.id)
        self.looks.append(self.row.status)
        return self.row

    @contextmanager
    def _watch(self, call_id: uuid.UUID) -> Iterator[WakeUp]:
        yield self.changed

    def become(self, status: str) -> None:
        # A call that runs without a lease waits for its user.
        self.row = replace(self.row, status=status, lease_until=self.row.created_at)
        self.changed.set()


async def _let_run() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_call_that_was_just_sent_is_looked_at_once_it_may_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    played = _Watched(monkeypatch, "queued")
    seen: list[str] = []

    async def see(call: ToolCall) -> None:
        seen.append(call.status)

    monkeypatch.setattr(invoke, "LOOK_SECONDS", PATIENCE_SECONDS)
    waiting = invoke.until_rest(CALLER, played.row.id, PATIENCE_SECONDS, see, sent=played.row)
    task = asyncio.create_task(waiting)
    await _let_run()
    assert (played.looks, seen) == ([], ["queued"])
    played.become("running")
    await _let_run()
    played.become("success")
    assert (await task).status == "success"
    assert played.looks == ["running", "success"] == seen[1:]


async def test_a_call_whose_hint_came_before_anybody_waited_is_looked_at_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = _Watched(monkeypatch, "queued")
    sent = played.row
    played.become("success")
    assert (await invoke.until_rest(CALLER, sent.id, PATIENCE_SECONDS, sent=sent)).status == "success"
    assert played.looks == ["success"]


@pytest.mark.parametrize(("status", "wait"), [("awaiting_approval", None), ("queued", 0), ("queued", -1)])
async def test_what_is_not_waited_for_is_answered_as_it_is_now(
    monkeypatch: pytest.MonkeyPatch, status: str, wait: float | None
) -> None:
    played = _Watched(monkeypatch, status)
    found = await invoke.until_rest(CALLER, played.row.id, wait, sent=replace(played.row, display="as it was"))
    assert (found, played.looks) == (played.row, [status])


async def test_a_call_of_which_nobody_says_anything_is_looked_at_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invoke, "LOOK_SECONDS", 0)
    played = _Watched(monkeypatch, "queued")
    sent = played.row
    played.row = replace(played.row, status="success")
    assert (await invoke.until_rest(CALLER, sent.id, PATIENCE_SECONDS, sent=sent)).status == "success"
    assert played.looks == ["success"]
