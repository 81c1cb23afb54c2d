"""A run as a stream of events, live or replayed.

No event is stored. An event's id is a position: how far into the run its reader has come, as the turn,
the attempt, the characters of text, one digit for each of the turn's calls, and how often the run waited for a human
in it. `after` compares a position with the run as it is now and answers what its reader has not seen; so a stream
can be taken up again in any process, after any restart, and a slow reader gets fewer, longer deltas, not a backlog.
"""

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from gateway.runs.rows import RunCall
from gateway.runs.view import RunView, TurnView, asking, body, call_body, pending, questions_of, required_action
from tools.invocation.live.progress import Progress

END = "end"
_POSITION = re.compile(r"(\d{1,6})\.(\d{1,9})\.(\d{1,9})\.([0-5]{0,100000})(?:\.(\d{1,6}))?\Z")
_PROPOSED, _AWAITING, _RUNNING, _SETTLED, _ASKING = 1, 2, 3, 4, 5
_NOT_YET: dict[str, Any] = {
    "output": None, "display": "", "error": None, "execution_time_ms": None
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Position:
    """How far a reader has come: `steps` holds, for each call of the turn, the last event seen of it; `suspensions`
    is how many of the turn's `run.requires_action` it knows of."""

    turn: int = 0
    attempt: int = 0
    offset: int = 0
    steps: str = ""
    suspensions: int = 0
    ended: bool = False

    def __str__(self) -> str:
        if self.ended:
            return END
        place = f"{self.turn}.{self.attempt}.{self.offset}.{self.steps}"
        return f"{place}.{self.suspensions}" if self.suspensions else place


START = Position(turn=-1)


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event; `position` is where its reader then is."""

    position: Position
    name: str
    data: dict[str, Any]

    def encode(self) -> bytes:
        """The event's bytes; JSON has no raw newline, so no text can forge a field."""
        return b"id: %b\nevent: %b\ndata: %b\n\n" % (
            str(self.position).encode(),
            self.name.encode(),
            orjson.dumps(self.data),
        )


def progress(run_id: uuid.UUID, at: Position, said: Progress) -> Event:
    """How far a call is; its reader is where they were, and is not told again."""
    data = {"run_id": str(run_id), "id": str(said.call_id), "progress": said.progress}
    return Event(at, "tool_call.progress", data | {"total": said.total, "message": said.message})


KEEP_ALIVE = b": keep-alive\n\n"


def position(last_event_id: str) -> Position:
    """The position that a `Last-Event-ID` names; one that is none of ours starts from the beginning."""
    if last_event_id == END:
        return Position(ended=True)
    found = _POSITION.match(last_event_id)
    if found is None:
        return START
    turn, attempt, offset, steps, suspensions = found.groups()
    return Position(int(turn), int(attempt), int(offset), steps, int(suspensions or 0))


def after(view: RunView, at: Position) -> Iterator[Event]:
    """What a reader at this position has not seen of the run as it is now, in order."""
    if at.ended:
        return
    run_id = str(view.id)
    if at == START:
        at = Position()
        run = view.run
        named = {"conversation_id": str(run.conversation_id), "message_id": str(run.message_id)}
        yield Event(at, "run.created", {"run_id": run_id, **named, "model": run.model, "status": "in_progress"})
    for turn in view.turns:
        if turn.number < at.turn:
            continue
        for event in _of_turn(view, turn, at):
            at = event.position
            yield event
    if view.final:
        yield Event(replace(at, ended=True), f"run.{view.run.status}", body(view))


def _of_turn(view: RunView, turn: TurnView, at: Position) -> Iterator[Event]:
    run_id = str(view.id)
    if at.turn != turn.number:
        at = Position(turn.number, turn.attempt)
    elif at.attempt != turn.attempt:
        voided = at.offset > 0
        at = Position(turn.number, turn.attempt)
        if voided:
            yield Event(at, "message.restarted", {"run_id": run_id, "turn": turn.number})
    text = turn.after(at.offset)
    if text:
        at = replace(at, offset=turn.length)
        yield Event(at, "message.delta", {"run_id": run_id, "text": text, "turn": turn.number})
    # First every call of the turn, then what becomes of them.
    for call in turn.calls[len(at.steps) :]:
        at = replace(at, steps=at.steps + str(_PROPOSED))
        yield Event(at, "tool_call.proposed", {"run_id": run_id, **call_body(call), **_NOT_YET, "status": "proposed"})
    waits = view.suspended and turn is view.last
    if at.suspensions < turn.suspensions and not waits:
        # It waited, and has gone on since: first what came before.
        for event in _of_calls(run_id, turn, at, before_decisions=True):
            at = event.position
            yield event
        at = replace(at, suspensions=turn.suspensions)
        yield _requires_action(view, turn, at, [call for call in turn.calls if call.approval_id], [])
    for event in _of_calls(run_id, turn, at):
        at = event.position
        yield event
    if at.suspensions < turn.suspensions:
        at = replace(at, suspensions=turn.suspensions)
        yield _requires_action(view, turn, at, pending(turn), asking(turn), view.below)


def _requires_action(
    view: RunView,
    turn: TurnView,
    at: Position,
    calls: list[RunCall],
    asked: list[RunCall],
    below: Sequence[dict[str, Any]] = (),
) -> Event:
    whole = body(view)
    so_far = [call for call in whole["tool_calls"] if call["turn"] <= turn.number]
    then = {"status": "requires_action", "content": turn.text, "error": None, "incomplete_reason": None}
    action = required_action(calls, asked, below)
    return Event(at, "run.requires_action", whole | then | {"tool_calls": so_far, "required_action": action})


def _of_calls(run_id: str, turn: TurnView, at: Position, *, before_decisions: bool = False) -> Iterator[Event]:
    """What became of the turn's calls; `before_decisions` leaves out what humans let happen."""
    for index, call in enumerate(turn.calls):
        for step, name, data in _steps_of(call, int(at.steps[index])):
            if before_decisions and call.approval_id and step > _AWAITING:
                continue
            at = replace(at, steps=at.steps[:index] + str(step) + at.steps[index + 1 :])
            yield Event(at, name, {"run_id": run_id, **data})


def _steps_of(call: RunCall, seen: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The events of a call beyond the last one seen: (digit, name, data)."""
    status = call.status
    if seen < _AWAITING and call.approval_id:
        yield _AWAITING, "tool_call.awaiting_approval", {**call_body(call), **_NOT_YET, "status": "awaiting_approval"}
    settled = status in ("success", "error")
    asks = bool(call.pending_questions)
    # Also once it goes on after an answer.
    runs = status == "running" and not (asks and seen == _ASKING)
    if seen not in (_RUNNING, _SETTLED) and (runs or (seen != _ASKING and settled and call.started_at is not None)):
        yield _RUNNING, "tool_call.running", {**call_body(call), **_NOT_YET, "status": "running"}
    if asks and seen != _ASKING:
        yield _ASKING, "tool_call.input_required", {**call_body(call), "questions": questions_of([call])}
    if seen != _SETTLED and settled:
        yield _SETTLED, "tool_call.settled", call_body(call)
