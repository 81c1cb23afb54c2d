"""A run as a picture of its time: what the model, the tools, the queue and people took of it, turn by turn.

Everything comes from rows. Turns are the user's own, so for others, and once the conversation was deleted, the model's
time is what lies between the calls. Messages are shown to nobody but their user.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from approvals.models import ApprovalRequest
from audit import identifiers
from audit.history import calls as history
from audit.models import FINAL, ToolCall
from audit.templatetags.audit_text import status_words, tone, tone_icon, took
from gateway.models import Run, Turn
from gateway.web.timescale import Moments, Timescale
from tenants.people.principal import Principal

# More calls than these are not drawn; the history has them all.
MOST_CALLS = 80
TEXT_CHARACTERS = 240
# What the kinds of bars are called.
WORDS = {
    "model": "the model",
    "ran": "ran",
    "queue": "waited for a worker",
    "turn": "waited to go on",
    "held": "waited for a human",
}
STATUS_WORDS = {
    Run.Status.IN_PROGRESS: ("In progress", "busy", "busy"),
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
class Bar:
    """A stretch as it is drawn, in percent of the picture, and in words."""

    kind: str
    x: str
    width: str
    words: str


@dataclass(slots=True)
class Line:
    """What one line of the picture is about: the model's answer of a turn (without `call`), or one call."""

    turn: int
    stretches: list[Stretch]
    call: ToolCall | None = None
    text: str = ""
    note: str = ""
    is_open: bool = False
    bars: list[Bar] = field(default_factory=list)
    begins: str = ""

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
    def words(self) -> str:
        """The line's picture for who does not see it."""
        parts = [f"{WORDS[each.kind]} for {took(each.milliseconds)}" for each in self.stretches]
        return f"from {self.begins} on: {', then '.join(parts)}" if parts else f"at {self.begins}"


@dataclass(slots=True)
class Timeline:
    """The picture: lines by turn, labels and cuts in percent; `run` is None once its conversation was deleted."""

    run_id: uuid.UUID
    user_id: uuid.UUID
    own: bool
    run: Run | None
    lines: list[Line]
    calls: int
    more: bool
    begin: datetime
    end: datetime
    is_live: bool
    ticks: list[tuple[str, str, str]] = field(default_factory=list)
    cuts: list[tuple[str, str]] = field(default_factory=list)

    @property
    def turns(self) -> list[tuple[int, list[Line]]]:
        """The lines of each turn."""
        return [
            (number, [line for line in self.lines if line.turn == number])
            for number in sorted({line.turn for line in self.lines})
        ]

    @property
    def took(self) -> str:
        """From the beginning to the end, or to now."""
        return took(_milliseconds(self.begin, self.end))

    def spent(self, kind: str) -> str:
        """How long anything of a kind went on; what happened side by side counts once. Empty when nothing did."""
        stretches = [each for line in self.lines for each in line.stretches if each.kind == kind]
        return took(sum(_milliseconds(start, stop) for start, stop in _merged(stretches))) if stretches else ""

    @property
    def spending(self) -> list[tuple[str, str, str]]:
        """Kind, name and time of all that took any."""
        names = {"model": "The model", "ran": "Tools", "queue": "Queue", "turn": "Waiting to go on", "held": "Humans"}
        return [(kind, name, spent) for kind, name in names.items() if (spent := self.spent(kind))]

    @property
    def status(self) -> tuple[str, str, str]:
        """In words, as a tone, and as an icon."""
        return STATUS_WORDS[Run.Status(self.run.status)] if self.run else ("Deleted", "busy", "cross")

    @property
    def clock(self) -> str:
        """How much of its time budget the run has used."""
        assert self.run is not None
        running = self.run.resumed_at
        until = self.run.finished_at or datetime.now(UTC)
        return took(self.run.spent_ms + (_milliseconds(running, until) if running else 0))


def read(principal: Principal, run_id: uuid.UUID) -> Timeline | None:
    """The timeline of a run that the principal may see: their own, or the tenant's; None when there is none."""
    runs = Run.objects.filter(tenant_id=principal.tenant_id)
    if not principal.sees_whole_history:
        runs = runs.filter(user_id=principal.user_id)
    run = runs.defer("request_hash", "idempotency_key").filter(id=run_id).first()
    found = history.visible(principal, ToolCall.objects.only(*_COLUMNS)).filter(run_id=run_id)
    if run is not None:
        # An id grows with time, so these bounds leave all other months unread.
        until = run.finished_at or datetime.now(UTC)
        low, high = (identifiers.first_id_at(each) for each in (run.created_at - _SLACK, until + _SLACK))
        found = found.filter(id__gte=low, id__lt=high)
    calls = list(found.order_by("turn", "position")[: MOST_CALLS + 1])
    if run is None and not calls:
        return None
    user_id = run.user_id if run is not None else calls[0].user_id
    own = user_id == principal.user_id
    turns = list(Turn.objects.filter(run_id=run_id).order_by("number")) if own and run is not None else []
    held = {call.approval_id for call in calls if call.approval_id}
    decided: dict[uuid.UUID, datetime | None] = {}
    if held:
        decided = dict(ApprovalRequest.objects.filter(id__in=held).values_list("id", "decided_at"))
    return _drawn(run_id, user_id, own, run, turns, calls, decided)


_SLACK = timedelta(minutes=1)
_COLUMNS = (
    *("id", "user_id", "tenant_id", "turn", "position", "tool_name", "status", "error_code", "display", "approval_id"),
    *("created_at", "queued_at", "started_at", "finished_at"),
)


def _drawn(
    run_id: uuid.UUID,
    user_id: uuid.UUID,
    own: bool,
    run: Run | None,
    turns: list[Turn],
    calls: list[ToolCall],
    decided: dict[uuid.UUID, datetime | None],
) -> Timeline:
    now = datetime.now(UTC)
    shown = calls[:MOST_CALLS]
    is_live = run is not None and run.status in Run.OPEN
    lines = [_of_call(call, decided.get(call.approval_id) if call.approval_id else None, now) for call in shown]
    begin = run.created_at if run is not None else min(call.created_at for call in shown)
    ends = [run.finished_at] if run is not None else []
    end = now if is_live else max(each for each in [begin, *ends, *(call.finished_at for call in shown)] if each)
    answers = _answers(turns) if turns else _between(run, lines, begin, end)
    if run is not None and run.status == Run.Status.IN_PROGRESS and all(call.status in FINAL for call in shown):
        since = max(
            [begin, run.resumed_at or begin, *(each.stop for line in [*answers, *lines] for each in line.stretches)]
        )
        answers.append(Line(run.turns + 1, [Stretch("model", min(since, now), now)], is_open=True))
    # The model's answer comes before the calls in it.
    lines = sorted([*answers, *lines], key=_order)
    begin = min([begin, *(each.start for line in lines for each in line.stretches)])
    drawn = Timeline(run_id, user_id, own, run, lines, len(shown), len(calls) > len(shown), begin, end, is_live)
    _draw(drawn)
    return drawn


def _order(line: Line) -> tuple[int, int]:
    return line.turn, -1 if line.call is None else line.call.position


def _of_call(call: ToolCall, decided: datetime | None, now: datetime) -> Line:
    """A call's time, in stretches that follow each other."""
    end = call.finished_at or now
    marks = [("held" if call.approval_id else "turn", call.created_at)]
    if call.approval_id and decided and call.queued_at:
        marks.append(("turn", decided))
    if call.queued_at and not (call.started_at and call.queued_at > call.started_at):
        marks.append(("queue", call.queued_at))
    if call.started_at:
        marks.append(("ran", call.started_at))
    stops = [*(moment for _, moment in marks[1:]), end]
    stretches = [Stretch(kind, start, stop) for (kind, start), stop in zip(marks, stops, strict=True) if stop > start]
    # The clocks of the processes that wrote them differ by little.
    kept = [each for each in stretches if each.milliseconds or each.kind == "ran"]
    assert call.turn is not None, "a run's call has a turn"
    return Line(call.turn, kept, call, is_open=call.status not in FINAL)


def _answers(turns: Iterable[Turn]) -> list[Line]:
    return [
        Line(
            turn.number,
            [Stretch("model", turn.created_at - timedelta(milliseconds=turn.latency_ms), turn.created_at)],
            text=turn.text[:TEXT_CHARACTERS] + ("…" if len(turn.text) > TEXT_CHARACTERS else ""),
            note=f"{turn.input_tokens:,} + {turn.output_tokens:,} tokens",
        )
        for turn in turns
    ]


def _between(run: Run | None, lines: list[Line], begin: datetime, end: datetime) -> list[Line]:
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


def _draw(drawn: Timeline) -> None:
    work: list[Moments] = [
        (each.start, each.stop) for line in drawn.lines for each in line.stretches if each.kind != "held"
    ]
    scale = Timescale(drawn.begin, drawn.end, work)
    for line in drawn.lines:
        began = line.stretches[0].start if line.stretches else line.call.created_at if line.call else drawn.begin
        line.begins = took(_milliseconds(drawn.begin, began))
        for each in line.stretches:
            left, right = scale.place(each.start), scale.place(each.stop)
            width = max(right - left, 0.004)
            words = f"{WORDS[each.kind]}: {took(each.milliseconds)}".capitalize()
            line.bars.append(Bar(each.kind, _percent(min(left, 1 - width)), _percent(width), words))
        if not line.stretches:
            line.bars.append(Bar("refused", _percent(min(scale.place(began), 0.996)), "0.4%", "Refused"))
    drawn.cuts = [(_percent(left), _percent(right - left)) for left, right in scale.cuts]
    for tick in scale.ticks():
        anchor = "first" if tick.place < 0.04 else "last" if tick.place > 0.96 else "mid"
        drawn.ticks.append((_percent(tick.place), took(round(tick.seconds * 1000)) if tick.seconds else "0", anchor))


def _percent(place: float) -> str:
    return f"{100 * place:.2f}%"


def _milliseconds(start: datetime, stop: datetime) -> int:
    return max(0, round((stop - start).total_seconds() * 1000))


def _merged(stretches: list[Stretch]) -> list[Moments]:
    merged: list[Moments] = []
    for each in sorted(stretches, key=lambda stretch: stretch.start):
        if merged and each.start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], each.stop))
        else:
            merged.append((each.start, each.stop))
    return merged
