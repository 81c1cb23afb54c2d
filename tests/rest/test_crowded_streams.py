"""Many readers of one run in one process: each gets everything, in fewer and longer pieces."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.rest.chat import answers
from gateway.runs.view import RunView, TurnView
from gateway.runs.watching.events import START
from tenants.scope.transactions import TenantScope
from tests.gateway.runs.rows import run_row


@pytest.mark.parametrize(("others", "pauses"), [(0, []), (15, []), (16, [0.001]), (255, [0.24])])
async def test_a_reader_waits_the_longer_for_its_next_piece_the_more_there_are(
    monkeypatch: pytest.MonkeyPatch, others: int, pauses: list[float]
) -> None:
    view, turn, changed = RunView(run_row()), TurnView(1, 1), asyncio.Event()
    view.turns.append(turn)
    turn.say("One, ")
    paused: list[float] = []

    @asynccontextmanager
    async def watching(*given: Any) -> AsyncIterator[asyncio.Event]:
        yield changed

    async def pause(seconds: float) -> None:
        paused.append(round(seconds, 3))
        turn.say("two, ")
        changed.set()

    monkeypatch.setattr(answers.following, "watching", watching)
    monkeypatch.setattr(answers, "_readers", Counter({view.id: others}))
    monkeypatch.setattr(answers, "_pause", pause)
    stream = answers.stream(TenantScope(view.run.tenant_id, view.run.user_id), view, START)
    pieces = [await anext(stream) for _ in range(2)]
    assert b"run.created" in pieces[0] and b'"One, "' in pieces[1]
    if pauses:
        assert b'"two, "' in await anext(stream)
    assert paused == pauses
    await stream.aclose()
    assert answers._readers == Counter({view.id: others} if others else {})
