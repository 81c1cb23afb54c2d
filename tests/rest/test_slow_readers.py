"""Streams whose reader takes one event at a time while the run goes on: what is sent late is whole and in order."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

import pytest

from gateway.rest.chat import answers
from gateway.runs.view import RunView, TurnView
from gateway.runs.watching import events
from tenants.scope.transactions import TenantScope
from tests.gateway.runs.driven import driven
from tests.gateway.runs.rows import call_row, held_row, turn, view
from tests.rest import sse
from tests.waiting import PATIENCE_SECONDS


async def _read(run: RunView, meanwhile: Callable[[], None]) -> list[sse.Event]:
    """All events of a run in which `meanwhile` happens while its first text is on its way; no human is waited for."""
    scope = TenantScope(run.run.tenant_id, run.run.user_id)
    async with driven(run), aclosing(answers.stream(scope, run, events.START, wait=0)) as pieces:
        seen = [(await anext(pieces)).decode(), (await anext(pieces)).decode()]
        meanwhile()
        run.changed()
        async with asyncio.timeout(PATIENCE_SECONDS):
            seen += [piece.decode() async for piece in pieces]
    found = sse.parse("".join(seen))
    assert [event.name for event in found[:2]] == ["run.created", "message.delta"]
    return found


def _begun() -> tuple[RunView, TurnView]:
    saying = turn(1, "I will ")
    run = view(saying)
    run.run = replace(run.run, turns=0)
    return run, saying


def _texts(found: list[sse.Event]) -> dict[int, str]:
    texts: dict[int, str] = {}
    for event in found:
        if event.name == "message.delta":
            texts[event.data["turn"]] = texts.get(event.data["turn"], "") + event.data["text"]
    return texts


async def test_a_slow_reader_gets_all_of_a_turns_text_before_its_calls_and_the_next_turn() -> None:
    run, saying = _begun()

    def meanwhile() -> None:
        saying.say("save it.")
        saying.calls = [call_row(1, 0, "success")]
        run.turns.append(turn(2, "Saved."))
        run.run = replace(run.run, status="completed", turns=2)

    found = await _read(run, meanwhile)
    assert _texts(found) == {1: "I will save it.", 2: "Saved."}
    assert [event.name for event in found[2:]] == [
        "message.delta", "tool_call.proposed", "tool_call.settled", "message.delta", "run.completed"
    ]  # fmt: skip


async def test_a_slow_reader_is_told_that_the_run_waits_for_a_human_after_all_of_its_text() -> None:
    run, saying = _begun()

    def meanwhile() -> None:
        saying.say("send it.")
        saying.calls, saying.suspensions = [held_row(1, 0)], 1
        run.run = replace(run.run, status="requires_action", turns=1)

    found = await _read(run, meanwhile)
    assert _texts(found) == {1: "I will send it."}
    assert [event.name for event in found[2:]] == [
        "message.delta", "tool_call.proposed", "tool_call.awaiting_approval", "run.requires_action"
    ]  # fmt: skip


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
async def test_a_run_that_ends_while_its_last_text_is_on_its_way_ends_its_stream_with_its_end(status: str) -> None:
    run, _ = _begun()

    def meanwhile() -> None:
        run.run = replace(run.run, status=status, turns=1)

    found = await _read(run, meanwhile)
    assert [event.name for event in found[2:]] == [f"run.{status}"]
