"""Passing the text of a turn under way from one process to another, over Redis."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import orjson
import pytest

from gateway.runs.rows import Run
from gateway.runs.view import RunView, TurnView, refresh
from gateway.runs.watching import events
from gateway.runs.watching import relay as relays
from gateway.runs.watching.relay import INTEREST, Relay
from tests.gateway.runs.rows import call_row, run_row
from tests.gateway.runs.rows import turn as made_turn
from tests.gateway.runs.rows import view as made_view
from tests.waiting import PATIENCE_SECONDS
from tools.invocation.live import wakeups
from tools.network import redis


def _row(run_id: uuid.UUID, **more: Any) -> Run:
    return run_row(id=run_id, **more)


class _Wire:
    """Two processes' parts with a real Redis between them; `lose` takes away the next so many pieces of text."""

    def __init__(self) -> None:
        self.driver, self.follower = Relay(), Relay()
        self.pieces: list[dict[str, Any]] = []
        self.announced: list[dict[str, Any]] = []
        self.lose = 0

    async def carry(self) -> None:
        async for channel, data in wakeups.listen(INTEREST, self.follower.channel):
            if channel == INTEREST and data is not None:
                said = orjson.loads(data)
                # On this Redis others may watch runs, too.
                if said["to"] == self.follower.channel:
                    self.announced.append(said)
                    self.driver.heed(data)
            elif channel == self.follower.channel:
                if data is not None:
                    self.pieces.append(orjson.loads(data))
                if data is None or self.lose == 0:
                    self.follower.receive(data)
                else:
                    self.lose -= 1


@asynccontextmanager
async def _wired() -> AsyncIterator[_Wire]:
    wire = _Wire()
    carrying = asyncio.create_task(wire.carry())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await wire.follower.subscribed.wait()
            yield wire
    finally:
        carrying.cancel()
        with suppress(asyncio.CancelledError):
            await carrying


@pytest.fixture
def announces_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each announcement asks for what has not come by then, so that a second one may have pieces sent twice."""
    for name in ("ANNOUNCE_SECONDS", "INTEREST_SECONDS"):
        monkeypatch.setattr(relays, name, 10 * PATIENCE_SECONDS)


def _views() -> tuple[RunView, TurnView, RunView]:
    """A run as its driver has it, with a turn under way, and as the rows have it."""
    run_id = uuid.uuid4()
    turn = TurnView(1, 100)
    return RunView(_row(run_id), [turn]), turn, RunView(_row(run_id))


async def _until(view: RunView, text: str) -> None:
    with view.watched() as changed:
        while view.last is None or view.last.text != text:
            changed.clear()
            await changed.wait()


def _say(view: RunView, turn: TurnView, text: str) -> None:
    turn.say(text)
    view.changed()


async def test_text_of_a_run_that_nobody_watches_elsewhere_costs_redis_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands: list[Any] = []
    real = redis.client().execute_command

    async def counted(*command: Any, **options: Any) -> Any:
        commands.append(command)
        return await real(*command, **options)

    async with _wired() as wire:
        monkeypatch.setattr(redis.client(), "execute_command", counted)
        view, turn, _ = _views()
        with wire.driver.driving(view):
            for _ in range(100):
                _say(view, turn, "word ")
                await asyncio.sleep(0)
            assert not wire.driver.watched(view.id)
    assert commands == []


async def test_a_follower_gets_what_was_said_before_it_came_and_what_comes_after(announces_once: None) -> None:
    async with _wired() as wire:
        view, turn, rows = _views()
        with wire.driver.driving(view):
            _say(view, turn, "so far, ")
            with wire.follower.following(rows):
                await _until(rows, "so far, ")
                _say(view, turn, "and on")
                await _until(rows, "so far, and on")
                assert wire.driver.watched(view.id)
    assert [piece["text"] for piece in wire.pieces] == ["so far, ", "and on"]
    assert len(wire.announced[0]["runs"]) == 1


async def test_a_piece_that_was_lost_is_sent_again_and_nothing_is_doubled() -> None:
    async with _wired() as wire:
        view, turn, rows = _views()
        with wire.driver.driving(view), wire.follower.following(rows):
            _say(view, turn, "one ")
            await _until(rows, "one ")
            wire.lose = 1
            _say(view, turn, "two ")
            while wire.lose:
                await asyncio.sleep(0)
            _say(view, turn, "three")
            await _until(rows, "one two three")


async def test_a_long_text_comes_in_pieces_that_fit(announces_once: None) -> None:
    text = "".join(chr(0x4E00 + number % 9000) for number in range(3 * relays.LONGEST_PIECE + 1))
    async with _wired() as wire:
        view, turn, rows = _views()
        _say(view, turn, text)
        with wire.driver.driving(view), wire.follower.following(rows):
            await _until(rows, text)
    assert [len(piece["text"]) for piece in wire.pieces] == [*[relays.LONGEST_PIECE] * 3, 1]


async def test_a_turn_that_is_asked_again_begins_anew_at_the_follower() -> None:
    async with _wired() as wire:
        view, turn, rows = _views()
        with wire.driver.driving(view), wire.follower.following(rows):
            _say(view, turn, "void")
            await _until(rows, "void")
            turn.restart()
            view.changed()
            await _until(rows, "")
            assert rows.last is not None
            assert rows.last.attempt == 101
            _say(view, turn, "anew")
            await _until(rows, "anew")


async def test_late_text_of_an_earlier_driver_is_not_shown() -> None:
    relay = Relay()
    rows = RunView(_row(uuid.uuid4(), fence=2))
    piece = {"run": rows.id.hex, "turn": 1, "attempt": 100, "at": 0, "text": "late"}
    with relay.following(rows):
        relay.receive(orjson.dumps(piece))
        assert rows.turns == []
        relay.receive(orjson.dumps(piece | {"attempt": 200, "text": "new"}))
        relay.receive(orjson.dumps(piece))
        assert [turn.text for turn in rows.turns] == ["new"]


@pytest.mark.parametrize(
    "row", [{"turns": 1}, {"status": "completed"}, {"status": "requires_action"}, {"status": "cancelled"}]
)
async def test_text_is_not_shown_where_the_rows_have_gone_on(row: dict[str, Any]) -> None:
    relay = Relay()
    run_id = uuid.uuid4()
    turns = [TurnView(1, 100, ["whole"], 5)] if "turns" in row else []
    rows = RunView(_row(run_id, **row), turns)
    with relay.following(rows):
        relay.receive(orjson.dumps({"run": run_id.hex, "turn": 1, "attempt": 100, "at": 0, "text": "wh"}))
        assert [turn.text for turn in rows.turns] == [turn.text for turn in turns]


@pytest.mark.parametrize("status", ["queued", "running", "awaiting_approval"])
async def test_the_next_turn_is_not_shown_behind_calls_whose_end_was_not_read(status: str) -> None:
    """Else a reader would come to the next turn, and never be told what became of the calls."""
    behind: list[uuid.UUID] = []
    relay = Relay(behind.append)
    rows = made_view(made_turn(1, "Saving.", call_row(1, 0, status)))
    piece = {"run": rows.id.hex, "turn": 2, "attempt": 100, "at": 0, "text": "Sa"}
    with relay.following(rows):
        assert behind == []
        relay.receive(orjson.dumps(piece))
        relay.receive(orjson.dumps(piece | {"at": 2, "text": "ved."}))
        assert [turn.number for turn in rows.turns] == [1]
        # Its rows are read again once, however much text comes meanwhile.
        assert behind == [rows.id]
        before = [event.name for event in events.after(rows, events.START)]
        refresh(rows, RunView(rows.run, [made_turn(1, "Saving.", call_row(1, 0, "success"))]), relay.under_way(rows.id))
        assert [turn.text for turn in rows.turns] == ["Saving.", "Saved."]
        assert "tool_call.settled" not in before
        assert "tool_call.settled" in [event.name for event in events.after(rows, events.START)]


@pytest.mark.parametrize("row", [{}, {"status": "requires_action"}])
async def test_rows_that_lack_a_turn_or_still_wait_are_read_again_when_later_text_comes(row: dict[str, Any]) -> None:
    behind: list[uuid.UUID] = []
    relay = Relay(behind.append)
    rows = made_view(made_turn(1, "Saving.", call_row(1, 0, "success")), **row)
    with relay.following(rows):
        number = 2 if row else 3
        piece = {"run": rows.id.hex, "turn": number, "attempt": 100, "at": 0, "text": "Sa"}
        relay.receive(orjson.dumps(piece))
        assert (behind, len(rows.turns)) == ([rows.id], 1)
        # Whoever comes later knows no more.
        with relay.following(again := RunView(rows.run, list(rows.turns))):
            assert (behind, len(again.turns)) == ([rows.id] * 2, 1)


async def test_a_run_that_waits_for_humans_is_not_announced() -> None:
    async with _wired() as wire:
        _, _, waiting = _views()
        waiting.run = replace(waiting.run, status="requires_action")
        _, _, running = _views()
        with wire.follower.following(waiting), wire.follower.following(running):
            while not wire.announced:
                await asyncio.sleep(0)
    assert [run[0] for run in wire.announced[0]["runs"]] == [running.id.hex]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"to": 1, "runs": 2}', b'{"run": "x"}'])
async def test_what_cannot_be_read_is_ignored(data: bytes) -> None:
    relay = Relay()
    view, _, rows = _views()
    with relay.driving(view), relay.following(rows):
        relay.heed(data)
        relay.receive(data)
        assert not relay.watched(view.id)
        assert rows.turns == []
