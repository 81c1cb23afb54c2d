"""How far calls are, from the tool that says so to the events of its run."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway.runs.watching import events
from gateway.runs.watching.wakeups import waits
from tests.gateway.runs.rows import call_row
from tests.waiting import PATIENCE_SECONDS
from tools.invocation.live import progress
from tools.invocation.live.progress import Progress


@contextmanager
def _heard(call: Any, found: list[Progress], enough: asyncio.Event) -> Iterator[None]:
    def hear(said: Progress) -> None:
        found.append(said)
        enough.set()

    with waits().hearing(call.wake_up_id, hear):
        yield


async def test_what_a_tool_says_reaches_who_follows_its_run_and_the_last_word_wins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "PAUSE_SECONDS", 0.01)
    call = call_row(1, 0, status="running")
    found: list[Progress] = []
    enough = asyncio.Event()
    with _heard(call, found, enough), progress.reporting(call) as report:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not enough.is_set():
                # Until this process listens.
                report(0, 10)
                await asyncio.sleep(0.05)
        for number in range(1, 10):
            report(number, 10, f"step {number}\u202e")
        # What was said before may come in between.
        async with asyncio.timeout(PATIENCE_SECONDS):
            while found[-1].progress != 9:
                await asyncio.sleep(0.01)
    assert found[-1] == Progress(call.wake_up_id, call.id, 9, 10, "step 9 ")
    assert [said.progress for said in found if said.progress] == [9]


@pytest.mark.parametrize("said", [None, "1", True, float("nan"), float("inf"), object()])
async def test_what_is_no_number_is_passed_over(said: Any) -> None:
    with progress.reporting(call_row(1, 0, status="running")) as report:
        report(said)
    assert not progress._sending


def test_progress_is_an_event_that_does_not_move_its_reader() -> None:
    call = call_row(1, 0, status="running")
    at = events.Position(1, 100, 5, "3")
    event = events.progress(call.run_id, at, Progress(call.run_id, call.id, 0.5, None, "half"))
    assert event.position == at
    assert (event.name, event.data) == (
        "tool_call.progress",
        {"run_id": str(call.run_id), "id": str(call.id), "progress": 0.5, "total": None, "message": "half"},
    )
