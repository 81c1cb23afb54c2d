"""A stream of events may be left and taken up again anywhere: nothing is lost, and nothing comes twice."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.runs.view import RunView, TurnView, attempt_of
from gateway.runs.watching import events
from gateway.runs.watching.events import END, START, Event, position
from tests.gateway.runs.rows import call_row, held_row, run_row, turn, view

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
# What may happen to a run: each step is a name and a number that chooses where.
WHAT = ["say", "restart", "calls", "suspend", "decide", "run", "settle", "read", "turn"]
STEPS = st.lists(st.tuples(st.sampled_from(WHAT), st.integers(0, 9)), max_size=40)


class Reader:
    """A client: it keeps what it read, and reconnects with the last id it has, each time."""

    def __init__(self) -> None:
        self.seen: list[Event] = []

    def read(self, run: RunView) -> None:
        """Read what is new, taking the stream up after every single event."""
        while True:
            at = position(str(self.seen[-1].position)) if self.seen else START
            event = next(events.after(run, at), None)
            if event is None:
                return
            self.seen.append(event)

    @property
    def shown(self) -> list[tuple[Any, ...]]:
        """What was read, with deltas joined and void text dropped."""
        shown: list[tuple[Any, ...]] = []
        for event in self.seen:
            if event.name == "message.restarted":
                shown = [each for each in shown if each[:2] != ("text", event.data["turn"])]
            elif event.name == "message.delta":
                key = ("text", event.data["turn"])
                before = shown.pop()[2] if shown and shown[-1][:2] == key else ""
                shown.append((*key, before + event.data["text"]))
            else:
                shown.append((event.name, event.data.get("id"), event.data.get("status")))
        return shown


def _change(run: RunView, what: str, number: int) -> None:
    last = run.turns[-1] if run.turns else None
    if what == "turn" and (last is None or all(call.final for call in last.calls)):
        run.turns.append(TurnView(len(run.turns) + 1, attempt_of(1)))
    elif last is None:
        return
    elif what == "say" and not last.calls:
        last.say("é𝒳ab\n"[number % 5] * (number + 1))
    elif what == "restart" and not last.calls:
        last.restart()
    elif what == "calls" and not last.calls:
        held = [held_row(last.number, at) for at in range(number // 3)]
        last.calls = [*(call_row(last.number, at + len(held)) for at in range(number % 3 + 1)), *held]
    elif what == "suspend" and _only_humans_can_move(last) and not run.suspended:
        run.run = replace(run.run, status="requires_action")
        last.suspensions += 1
    elif last.calls:
        at = number % len(last.calls)
        call = last.calls[at]
        undecided = call.approval_status == "pending"
        if what == "decide" and undecided:
            last.calls[at] = replace(call, approval_status="approved")
            run.run = replace(run.run, status="in_progress")
        elif what == "run" and call.status != "success" and not undecided:
            last.calls[at] = replace(call, status="running", started_at=MOMENT)
        elif what == "settle" and call.status != "success" and not undecided:
            last.calls[at] = replace(call, status="success")


def _only_humans_can_move(turn: TurnView) -> bool:
    waiting = [call for call in turn.calls if call.approval_status == "pending"]
    return bool(waiting) and all(call in waiting or call.status == "success" for call in turn.calls)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_reading_at_any_moments_comes_to_the_same_as_reading_at_once(steps: list[tuple[str, int]]) -> None:
    run = RunView(run_row())
    often = Reader()
    for what, number in steps:
        if what == "read":
            often.read(run)
        else:
            _change(run, what, number)
    run.run = replace(run.run, status="completed")
    often.read(run)
    once = Reader()
    once.seen = list(events.after(run, START))

    # Calls' events may come in another order, and who comes late hears once that a turn waited, however often.
    assert sorted(set(map(str, often.shown))) == sorted(set(map(str, once.shown)))
    assert len({str(event.position) for event in often.seen}) == len(often.seen)
    assert often.seen[-1].position.ended
    assert often.seen[-1].data == once.seen[-1].data
    # Of each call: proposed before running before settled.
    for call in {event.data["id"] for event in often.seen if event.name.startswith("tool_call.")}:
        names = [event.name for event in often.seen if event.data.get("id") == call and event.name[:4] == "tool"]
        order = ["tool_call.proposed", "tool_call.awaiting_approval", "tool_call.running", "tool_call.settled"]
        assert [order.index(name) for name in names] == sorted({order.index(name) for name in names})


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_last_event_id_starts_somewhere(last: str) -> None:
    run = view(turn(1, "Hello.", call_row(1, 0, "success")), turn(2, "Bye."), status="completed")
    found = list(events.after(run, position(last)))
    assert found[-1].name == "run.completed" or last == END


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 9), st.integers(0, 999), st.integers(0, 99), st.text("0123456789", max_size=6))
def test_a_position_that_fits_nothing_breaks_nothing(number: int, attempt: int, offset: int, steps: str) -> None:
    run = view(turn(1, "Hello.", call_row(1, 0, "success")), turn(2, "Bye."), status="completed")
    found = list(events.after(run, position(f"{number}.{attempt}.{offset}.{steps}")))
    assert found[-1].name == "run.completed"


@pytest.mark.parametrize("name", ["run.created", "message.delta"])
@given(text=st.text(st.characters(codec="utf-8"), max_size=200))
def test_text_never_forges_a_field(name: str, text: str) -> None:
    encoded = Event(START, name, {"run_id": "r", "text": text}).encode()
    assert encoded.count(b"\n") == 4
    assert b"\r" not in encoded
    assert encoded.endswith(b"}\n\n")


def test_a_restarted_turn_is_announced_only_to_who_has_read_of_it() -> None:
    run = view(turn(1, "Hel"))
    reader, other = Reader(), Reader()
    reader.read(run)
    run.turns[0].restart()
    run.turns[0].say("Bye.")
    reader.read(run)
    other.read(run)
    assert [event.name for event in reader.seen] == [
        "run.created",
        "message.delta",
        "message.restarted",
        "message.delta",
    ]
    assert [event.name for event in other.seen] == ["run.created", "message.delta"]
    assert reader.shown == other.shown


def test_a_turn_taken_over_by_another_driver_voids_what_the_first_said() -> None:
    run = view(turn(1, "Hel", attempt=attempt_of(1)))
    reader = Reader()
    reader.read(run)
    run.turns = [turn(1, "Goodbye.", attempt=attempt_of(2))]
    run.run = replace(run.run, status="completed")
    reader.read(run)
    assert [event.name for event in reader.seen][2:] == ["message.restarted", "message.delta", "run.completed"]
    assert reader.shown[1] == ("text", 1, "Goodbye.")


def test_nothing_comes_after_the_end() -> None:
    run = view(turn(1, "Hello."), status="completed")
    assert list(events.after(run, position(END))) == []


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=5), max_size=20), st.integers(0, 100))
def test_the_rest_of_a_turn_is_its_text_from_there(pieces: list[str], offset: int) -> None:
    made = TurnView(1, 100)
    for piece in pieces:
        made.say(piece)
    assert made.text == "".join(pieces)
    assert made.after(min(offset, made.length)) == made.text[offset:]
