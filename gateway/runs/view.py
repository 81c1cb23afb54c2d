"""A run as its watchers see it: the rows that stand, and the text of the turn under way."""

import asyncio
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from audit.calls.rows import ToolCall
from gateway import models
from gateway.providers.interface import Opaque, SuggestedCall
from gateway.runs.rows import Run, RunCall, Turn

FINAL = frozenset(models.Run.FINAL)
_Status = models.Run.Status
# Of what a run may use with all that it begins.
_LIMITS = ("max_run_tokens", "max_run_usd")


@dataclass(slots=True)
class TurnView:
    """One turn: its text in the pieces it came in, and its calls' rows by position.

    `attempt` grows when the turn is asked again and its text so far is void; `suspensions` counts how often the run
    waited for a human in it.
    """

    number: int
    attempt: int
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    calls: list[RunCall] = field(default_factory=list)
    suspensions: int = 0
    finish_reason: str = "stop"
    heard: list[Opaque] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def opaque(self) -> tuple[Opaque, ...]:
        """The parts that came before the text, as far as they have come."""
        kept = tuple(Opaque(family, raw) for family, raw in self.details.get("opaque", ()))
        return kept or tuple(self.heard)

    @property
    def model(self) -> str:
        """The model that answered in the place of the run's own; empty when its own did."""
        return str(self.details.get("model", ""))

    @property
    def client_calls(self) -> tuple[SuggestedCall, ...]:
        """The calls of the client's own tools that the turn ended with."""
        return tuple(SuggestedCall(*each) for each in self.details.get("client_calls", ()))

    @property
    def through(self) -> frozenset[int]:
        """The places of the calls that the model made through tools_call."""
        return frozenset(self.details.get("through", ()))

    @property
    def text(self) -> str:
        """What the model said in this turn, so far."""
        return "".join(self.pieces)

    def say(self, text: str) -> None:
        """Add a piece of text."""
        self.pieces.append(text)
        self.length += len(text)

    def restart(self) -> None:
        """Void the text so far: the turn is asked again."""
        self.attempt += 1
        self.pieces, self.length, self.heard = [], 0, []

    def after(self, offset: int) -> str:
        """The text from a character on; costs no more than the pieces that came since."""
        tail: list[str] = []
        missing = self.length - offset
        for piece in reversed(self.pieces):
            if missing <= 0:
                break
            tail.append(piece if len(piece) <= missing else piece[-missing:])
            missing -= len(piece)
        return "".join(reversed(tail))


class RunView:
    """A run's row and its turns; whoever changes it calls `changed`, and every watcher wakes.

    `below` are the requests of its descendants that wait for humans, as `required_action` shows them, where the run is
    parked and they were looked for.
    """

    def __init__(self, run: Run, turns: list[TurnView] | None = None):
        self.run = run
        self.turns = turns or []
        self.below: list[dict[str, Any]] = []
        self._watchers: set[asyncio.Event] = set()

    @property
    def id(self) -> uuid.UUID:
        """The run's id."""
        return self.run.id

    @property
    def final(self) -> bool:
        """Whether the run is over."""
        return self.run.status in FINAL

    @property
    def suspended(self) -> bool:
        """Whether the run waits for a human, itself or below it, and for nothing that goes on without one."""
        return self.status == _Status.REQUIRES_ACTION

    @property
    def parked(self) -> bool:
        """Whether nobody drives the run until a human or a child of it has done something."""
        return self.run.status in (_Status.REQUIRES_ACTION, _Status.WAITING)

    @property
    def status(self) -> str:
        """The run's status as clients know it."""
        if self.run.status != _Status.WAITING:
            return self.run.status
        return _Status.REQUIRES_ACTION.value if self.below else _Status.IN_PROGRESS.value

    @property
    def last(self) -> TurnView | None:
        """The turn under way, or the last one."""
        return self.turns[-1] if self.turns else None

    def changed(self) -> None:
        """Wake every watcher."""
        for watcher in self._watchers:
            watcher.set()

    @contextmanager
    def watched(self) -> Iterator[asyncio.Event]:
        """An event that is set at every change from now on; the watcher clears it."""
        watcher = asyncio.Event()
        self._watchers.add(watcher)
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)


def attempt_of(fence: int) -> int:
    """The first attempt number of a driver: above every one that an earlier driver can have used."""
    return fence * 100


def from_rows(run: Run, turns: list[Turn], calls: list[RunCall]) -> RunView:
    """The view of a run out of its rows alone."""
    return RunView(run, turn_views(turns, calls))


def turn_views(turns: list[Turn], calls: list[RunCall]) -> list[TurnView]:
    """A run's answered turns with their calls."""
    views = [
        TurnView(
            turn.number,
            turn.attempt,
            [turn.text],
            len(turn.text),
            suspensions=turn.suspensions,
            finish_reason=turn.finish_reason,
            details=turn.details,
        )
        for turn in turns
    ]
    for call in calls:
        views[call.turn - 1].calls.append(call)
    return views


def refresh(view: RunView, fresh: RunView, under_way: TurnView | None = None) -> None:
    """Bring a view up to what the rows say, and to the turn that another process has under way; wake its watchers."""
    view.run, view.turns, view.below = fresh.run, fresh.turns, fresh.below
    show(view, under_way)


def show(view: RunView, under_way: TurnView | None) -> bool:
    """Show a turn that another process has under way behind the turns of the rows, if it comes next.

    False when the view's rows are behind it, and have to be read again: a turn is asked for when every call of the one
    before has ended, and a reader who has come to the next turn is told nothing of an earlier one.
    """
    view.changed()
    if under_way is None or view.final:
        return True
    committed = view.turns[: view.run.turns]
    # An attempt of an earlier driver is void, however late its text comes.
    if under_way.number <= len(committed) or under_way.attempt < attempt_of(view.run.fence):
        return True
    at_rest = not committed or all(call.final for call in committed[-1].calls)
    if under_way.number > len(committed) + 1 or view.run.status != _Status.IN_PROGRESS or not at_rest:
        return False
    view.turns = [*committed, under_way]
    return True


# --- as the contract shows it ----------------------------------------------------------------------------------------
def call_body(call: ToolCall) -> dict[str, Any]:
    """A tool call as the API shows it."""
    error = None
    if call.error_code:
        error = {"code": call.error_code, "message": call.error_message}
        if call.error_field:
            error["field"] = call.error_field
    return {
        "id": str(call.id),
        "tool": call.tool_name,
        "input": call.input,
        "status": call.status,
        "output": call.output,
        "display": call.display,
        "error": error,
        "execution_time_ms": call.execution_time_ms,
        "turn": call.turn,
        "approval_id": call.approval_id and str(call.approval_id),
    }


def pending(turn: TurnView) -> list[RunCall]:
    """The turn's calls that nobody has decided about."""
    return [call for call in turn.calls if call.status == "awaiting_approval" and call.approval_status == "pending"]


def asking(turn: TurnView) -> list[RunCall]:
    """The turn's calls that wait for an answer of their user."""
    return [call for call in turn.calls if call.pending_questions]


def questions_of(calls: list[RunCall]) -> list[dict[str, Any]]:
    """What the calls ask their user, as far as it is not answered."""
    return [_question(each) for call in calls for each in call.pending_questions]


def _question(each: dict[str, Any]) -> dict[str, Any]:
    # A run's call asks nothing of an MCP client.
    answer = {"url": each["url"]} if each["schema"] is None else {"schema": each["schema"]}
    return {"id": each["id"], "tool": each["tool"], "message": each["message"], **answer} | {
        "expires_at": each["expires_at"]
    }


def required_action(
    calls: list[RunCall], asking: list[RunCall] | None = None, below: Sequence[dict[str, Any]] = ()
) -> dict[str, Any] | None:
    """What people must do for a run to go on with these calls: decide about the first, answer the others, and decide
    about the requests of its descendants."""
    questions = questions_of(asking or [])
    approvals = [
        {
            "id": str(call.approval_id),
            "tool": call.tool_name,
            "input": call.input,
            "expires_at": call.approval_expires_at and call.approval_expires_at.isoformat(),
        }
        for call in calls
    ] + list(below)
    if not approvals:
        return {"type": "input", "approvals": [], "questions": questions} if asking else None
    return {"type": "approval", "approvals": approvals, **({"questions": questions} if questions else {})}


def body(view: RunView) -> dict[str, Any]:
    """A run as `POST /api/v1/chat` and `GET /api/v1/runs/{id}` answer it."""
    run = view.run
    last = view.last
    error = None
    if run.error_code:
        error = {"code": run.error_code, "message": run.error_message}
    return {
        "id": str(run.message_id),
        "conversation_id": str(run.conversation_id),
        "run_id": str(run.id),
        "status": view.status,
        "error": error,
        "incomplete_reason": run.incomplete_reason,
        "content": last.text if last else "",
        "model": (last.model if last else "") or run.model,
        "tool_calls": [call_body(call) for turn in view.turns for call in turn.calls],
        "usage": {
            "input_tokens": run.input_tokens,
            "output_tokens": run.output_tokens,
            "turns": run.turns,
            **{name: most for name in _LIMITS if (most := run.profile.get(name)) is not None},
        },
        "required_action": required_action(pending(last), asking(last), view.below)
        if last and view.suspended
        else None,
    }
