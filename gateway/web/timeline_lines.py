"""The lines of a run's picture: what each turn's answer and each call took, in stretches of time."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from audit.models import FINAL, ToolCall
from audit.templatetags.audit_text import status_words, tone, tone_icon, took
from gateway.models import Run, Turn

TEXT_CHARACTERS = 240
# What the kinds of bars are called.
WORDS = {
    "model": "the model",
    "ran": "ran",
    "queue": "waited for a worker",
    "turn": "waited to go on",
    "held": "waited for a human",
    "asked": "waited for an answer of the user",
    "child": "waited for the run that it began",
}
STATUS_WORDS = {
    Run.Status.IN_PROGRESS: ("In progress", "busy", "busy"),
    Run.Status.WAITING: ("Waits for the runs that it began", "wait", "wait"),
    Run.Status.REQUIRES_ACTION: ("Waits for a human", "wait", "wait"),
    Run.Status.COMPLETED: ("Completed", "good", "check"),
    Run.Status.INCOMPLETE: ("Stopped at its budget", "bad", "alert"),
    Run.Status.FAILED: ("Failed", "bad", "alert"),
    Run.Status.CANCELLED: ("Cancelled", "bad", "cross"),
}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the run's time: its kind, one of WORDS, and its two moments."""

    kind: str
    start: datetime
    stop: datetime

    @property
    def milliseconds(self) -> int:
        """How long it is."""
        return round((self.stop - self.start).total_seconds() * 1000)


@dataclass(frozen=True, slots=True)
class Round:
    """Questions that a call asked together: when it did, when the last was decided, and when the call went on or
    ended."""

    begun: datetime
    ready: datetime | None
    used: datetime | None


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch as it is drawn, in percent of the picture, and in words."""

    kind: str
    x: str
    width: str
    words: str


@dataclass(slots=True)
class Line:
    """What one line of the picture is about: the model's answer of a turn (without `call`), or one call.

    `depth` is how far below the run of the picture its own run is, and `group` the turn of the former that it is in.
    """

    turn: int
    stretches: list[Stretch]
    call: ToolCall | None = None
    text: str = ""
    note: str = ""
    is_open: bool = False
    bars: list[Bar] = field(default_factory=list)
    begins: str = ""
    depth: int = 0
    group: int = 0
    began: Run | None = None

    @property
    def took(self) -> str:
        """The whole line's time in words; a call that was refused at once took none."""
        return took(sum(each.milliseconds for each in self.stretches)) if self.stretches else ""

    @property
    def outcome(self) -> tuple[str, str, str]:
        """In words, as a tone, and as an icon."""
        if self.call is not None:
            return status_words(self.call), tone(self.call.status), tone_icon(self.call.status)
        return ("Answering", "busy", "busy") if self.is_open else ("Answered", "good", "check")

    @property
    def child(self) -> tuple[str, str, str]:
        """What the run that the call began does, as `outcome` is."""
        return STATUS_WORDS[Run.Status(self.began.status)] if self.began is not None else ("", "", "")

    @property
    def words(self) -> str:
        """The line's picture for who does not see it."""
        parts = [f"{WORDS[each.kind]} for {took(each.milliseconds)}" for each in self.stretches]
        return f"from {self.begins} on: {', then '.join(parts)}" if parts else f"at {self.begins}"


def of_call(call: ToolCall, decided: datetime | None, asked: Iterable[Round], now: datetime) -> Line:
    """A call's time, in stretches that follow each other."""
    end = call.finished_at or now
    marks = [("held" if call.approval_id else "turn", call.created_at)]
    if call.approval_id and decided and call.queued_at:
        marks.append(("turn", decided))
    if call.queued_at and not (call.started_at and call.queued_at > call.started_at):
        marks.append(("queue", call.queued_at))
    if call.started_at:
        marks.append(("child" if call.waits_on_run else "ran", call.started_at))
        # It began once; each time that it asked, it gave its worker back until the answers were there.
        for each in asked:
            answered = each.ready or each.used
            marks.append(("asked", min(each.begun, end)))
            if answered:
                marks.append(("ran", min(answered, end)))
    stops = [*(moment for _, moment in marks[1:]), end]
    stretches = [Stretch(kind, start, stop) for (kind, start), stop in zip(marks, stops, strict=True) if stop > start]
    # The clocks of the processes that wrote them differ by little.
    kept = [each for each in stretches if each.milliseconds or each.kind in ("ran", "child")]
    assert call.turn is not None, "a run's call has a turn"
    return Line(call.turn, kept, call, is_open=call.status not in FINAL)


def answers(turns: Iterable[Turn]) -> list[Line]:
    return [
        Line(
            turn.number,
            [Stretch("model", turn.created_at - timedelta(milliseconds=turn.latency_ms), turn.created_at)],
            text=turn.text[:TEXT_CHARACTERS] + ("…" if len(turn.text) > TEXT_CHARACTERS else ""),
            note=f"{turn.input_tokens:,} + {turn.output_tokens:,} tokens{_instead(turn)}",
        )
        for turn in turns
    ]


def _instead(turn: Turn) -> str:
    """Which models failed, and which one answered in the place of the run's own; empty when that did at once."""
    more = json.loads(turn.more) if turn.more else {}
    failed = [f"{model} failed" for model, _ in more.get("failed", ())]
    answered = [f"{more['model']} answered"] if more.get("model") else []
    return "".join(f"; {words}" for words in (*failed, *answered))


def between(run: Run | None, lines: list[Line], begin: datetime, end: datetime) -> list[Line]:
    """The model's time as far as calls show it: from the end of one turn's calls to the next one's."""
    found, since = [], begin
    for number in sorted({line.turn for line in lines}):
        calls = [line.call for line in lines if line.turn == number and line.call is not None]
        asked = min(call.created_at for call in calls)
        found.append(Line(number, [Stretch("model", min(since, asked), asked)]))
        since = max([asked, *(call.finished_at for call in calls if call.finished_at)])
    if run is not None and run.turns > len(found) and run.finished_at:
        found.append(Line(run.turns, [Stretch("model", min(since, end), end)]))
    return found


def milliseconds(start: datetime, stop: datetime) -> int:
    return max(0, round((stop - start).total_seconds() * 1000))
