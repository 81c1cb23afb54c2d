"""A turn's calls on behalf of their run, over ports that are played: committed, sent in order, and waited for."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from gateway.runs import loop
from gateway.runs.execution import RunExecution
from gateway.runs.rows import Run, RunEnd
from gateway.runs.turns import calls
from tests.gateway.runs.ports import Model, PlayedPorts, PlayedUnitOfWork, calling, execution
from tests.gateway.runs.rows import call_row, turn
from tests.waiting import PATIENCE_SECONDS


async def test_calls_are_evaluated_again_when_rights_change_before_the_commit() -> None:
    ports = PlayedPorts(Model(calling("save_note")), rights_change=3)
    run = execution(ports, max_turns=1)
    await loop.drive(run)
    assert ports.rights_change == 0
    assert [each for each in ports.done if each[0] == "turn"] == [("turn", "", 1)]
    assert len(ports.calls) == 1


async def test_what_changes_something_runs_after_what_came_before_it() -> None:
    ports = PlayedPorts(Model(calling("list_tasks", "save_note", "list_tasks")))
    await loop.drive(execution(ports, max_turns=1))
    sent = [each[1] for each in ports.done if each[0] == "sent"]
    assert sent == ["list_tasks", "save_note", "list_tasks"]


class _Slow(PlayedPorts):
    """Its calls run on until somebody ends them; a wake-up may come for nothing."""

    looks = 0

    @asynccontextmanager
    async def step(self, execution: RunExecution, *, alone: bool = False) -> AsyncIterator[PlayedUnitOfWork]:
        self.looks += 1
        assert self.looks < 20, "it looks again without having been woken"
        async with super().step(execution, alone=alone) as step:
            yield step

    async def dispatch(self, calls: Sequence[Any]) -> None:
        if calls:
            self._event.set()

    def finish(self, call_id: uuid.UUID) -> None:
        self.change(call_id, status="success", output={}, output_bytes=2)
        self._event.set()


async def test_calls_that_run_are_looked_at_when_they_may_have_changed_and_not_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "TOGETHER_SECONDS", 0)
    ports = _Slow(Model(calling("list_tasks", "list_tasks")))
    driving = asyncio.create_task(loop.drive(execution(ports, max_turns=1)))
    seen = []
    for step in range(3):
        # Long enough for whatever the loop does without being woken.
        for _ in range(100):
            await asyncio.sleep(0)
        seen.append(ports.looks)
        if step < 2:
            ports.finish(list(ports.calls)[step])
    await driving
    # Reading the rights, committing the turn, and the wake-up for nothing; then a look for each end.
    assert seen[:2] == [3, 4]
    assert ports.end == RunEnd("incomplete", "", "max_turns")


async def test_calls_that_end_together_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "TOGETHER_SECONDS", PATIENCE_SECONDS)
    ports = _Slow(Model(calling("list_tasks", "list_tasks", "list_tasks")))
    driving = asyncio.create_task(loop.drive(execution(ports, max_turns=1)))
    seen = []
    # The wake-up for nothing is taken for the end of one.
    for step in range(2):
        for _ in range(100):
            await asyncio.sleep(0)
        seen.append(ports.looks)
        for call_id in list(ports.calls)[2 * step : 2 * step + 2]:
            ports.finish(call_id)
    await driving
    # Reading the rights and committing the turn; a look at three wake-ups, and one at the end of the last.
    assert (seen, ports.looks) == ([2, 3], 5)
    assert ports.end == RunEnd("incomplete", "", "max_turns")


async def test_a_run_is_suspended_when_only_humans_can_move_its_calls() -> None:
    ports = PlayedPorts(Model(calling("list_tasks", "send_email")), held=["send_email"])
    run = execution(ports)
    await loop.drive(run)
    assert ports.done == [("turn", "", 2), ("sent", "list_tasks"), "suspended"]
    assert (run.view.run.status, run.view.turns[0].suspensions, ports.end) == ("requires_action", 1, None)


async def test_a_denial_is_taken_note_of_once_and_the_run_goes_on() -> None:
    model = Model(calling("send_email"))
    ports = PlayedPorts(model, held=["send_email"])
    run = execution(ports, max_turns=1)
    await loop.drive(run)
    [call] = ports.calls.values()
    ports.change(call.id, status="error", error_code="approval_denied", approval_status="denied")
    run.view.run = run_again(run.view.run)
    await loop.drive(run)
    assert ports.done == [("turn", "", 1), "suspended", ("noted", "send_email")]
    assert ports.end == RunEnd("incomplete", "", "max_turns")


async def test_an_agent_that_halts_ends_its_run_with_the_denial() -> None:
    ports = PlayedPorts(Model(calling("send_email")), held=["send_email"])
    run = execution(ports, on_refused_approval="halt")
    await loop.drive(run)
    [call] = ports.calls.values()
    ports.change(call.id, status="error", error_code="approval_denied", error_message="No.", approval_status="denied")
    run.view.run = run_again(run.view.run)
    await loop.drive(run)
    assert ports.end == RunEnd("cancelled", "", None, "approval_denied", "No.", 200)


async def test_an_approved_call_goes_on_through_the_gates_and_is_sent() -> None:
    ports = PlayedPorts(Model(calling("send_email")), held=["send_email"])
    run = execution(ports, max_turns=1)
    await loop.drive(run)
    [call] = ports.calls.values()
    ports.change(call.id, approval_status="approved")
    run.view.run = run_again(run.view.run)
    await loop.drive(run)
    assert ports.done == [("turn", "", 1), "suspended", ("sent", "send_email")]


def test_a_turn_is_at_rest_once_its_calls_are_final_and_decisions_were_noted() -> None:
    open_call, final = call_row(1, 0, "queued"), call_row(1, 0, "success")
    decided = call_row(1, 0, "error", approval_id=final.id)
    noted = call_row(1, 0, "error", approval_id=final.id, approval_used_at=final.created_at)
    assert [calls.at_rest(turn(1, "", each)) for each in (open_call, final, decided, noted)] == [
        False,
        True,
        False,
        True,
    ]


def run_again(run: Run) -> Run:
    """The run once a worker has taken it over."""
    return replace(run, status="in_progress", fence=run.fence + 1)
