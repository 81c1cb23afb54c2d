"""A run as a picture of its time: what the model, the tools, the queue and people took of it, turn by turn, with the
runs that its calls began.

Everything comes from rows. Turns are the user's own, so for others, and once the conversation was deleted, the model's
time is what lies between the calls. Messages are shown to nobody but their user.
"""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db.models import QuerySet

from approvals.models import ApprovalRequest, Question
from audit import identifiers
from audit.history import calls as history
from audit.models import FINAL, Status, ToolCall
from audit.templatetags.audit_text import took
from gateway.models import Run, Turn
from gateway.web.timeline_lines import (
    STATUS_WORDS,
    WORDS,
    Bar,
    Line,
    Round,
    Stretch,
    answers,
    between,
    milliseconds,
    of_call,
)
from gateway.web.timescale import Moments, Timescale
from tenants.people.principal import Principal

# More calls than these are not drawn; the history has them all.
MOST_CALLS = 80
# More runs below one are not drawn either.
MOST_RUNS = 40


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
        """The lines of each turn, those of the runs below it included."""
        return [
            (number, [line for line in self.lines if line.group == number])
            for number in sorted({line.group for line in self.lines})
        ]

    @property
    def took(self) -> str:
        """From the beginning to the end, or to now."""
        return took(milliseconds(self.begin, self.end))

    def spent(self, kind: str) -> str:
        """How long anything of a kind went on in the run itself; what happened side by side counts once. Empty when
        nothing did."""
        stretches = [each for line in self.lines if not line.depth for each in line.stretches if each.kind == kind]
        return took(sum(milliseconds(start, stop) for start, stop in _merged(stretches))) if stretches else ""

    @property
    def spending(self) -> list[tuple[str, str, str]]:
        """Kind, name and time of all that took any."""
        names = {"model": "The model", "ran": "Tools", "queue": "Queue", "turn": "Waiting to go on", "held": "Humans"}
        names |= {"asked": "Questions", "child": "Runs that it began"}
        return [(kind, name, spent) for kind, name in names.items() if (spent := self.spent(kind))]

    @property
    def status(self) -> tuple[str, str, str]:
        """In words, as a tone, and as an icon."""
        if self.run is None:
            return "Deleted", "busy", "cross"
        asked = any(line.call is not None and line.call.status == Status.AWAITING_APPROVAL for line in self.lines)
        is_waiting = self.run.status == Run.Status.WAITING
        return STATUS_WORDS[Run.Status.REQUIRES_ACTION if is_waiting and asked else Run.Status(self.run.status)]

    @property
    def clock(self) -> str:
        """How much of its time budget the run has used."""
        assert self.run is not None
        running = self.run.resumed_at
        until = self.run.finished_at or datetime.now(UTC)
        return took(self.run.spent_ms + (milliseconds(running, until) if running else 0))


@dataclass(slots=True)
class _Rows:
    """What is known of the runs of a picture; `turns` are nobody's but their user's."""

    calls: dict[uuid.UUID, list[ToolCall]] = field(default_factory=dict)
    turns: dict[uuid.UUID, list[Turn]] = field(default_factory=dict)
    # By the call that each of them was begun by.
    children: dict[uuid.UUID, Run] = field(default_factory=dict)
    decided: dict[uuid.UUID, datetime | None] = field(default_factory=dict)
    asked: dict[uuid.UUID, list[Round]] = field(default_factory=dict)


def read(principal: Principal, run_id: uuid.UUID) -> Timeline | None:
    """The timeline of a run that the principal may see, with the runs below it: their own, or the tenant's; None when
    there is none."""
    runs = Run.objects.filter(tenant_id=principal.tenant_id).defer("request_hash", "idempotency_key")
    if not principal.sees_whole_history:
        runs = runs.filter(user_id=principal.user_id)
    run = runs.filter(id=run_id).first()
    found = history.visible(principal, ToolCall.objects.only(*_COLUMNS))
    if run is not None:
        # An id grows with time, so these bounds leave all other months unread.
        until = run.finished_at or datetime.now(UTC)
        low, high = (identifiers.first_id_at(each) for each in (run.created_at - _SLACK, until + _SLACK))
        found = found.filter(id__gte=low, id__lt=high)
    calls = list(found.filter(run_id=run_id).order_by("turn", "position")[: MOST_CALLS + 1])
    if run is None and not calls:
        return None
    user_id = run.user_id if run is not None else calls[0].user_id
    own = user_id == principal.user_id and run is not None
    stored = _Rows(
        {run_id: calls}, {run_id: list(Turn.objects.filter(run_id=run_id).order_by("number"))} if own else {}
    )
    if run is not None and any(call.waits_on_run for call in calls):
        calls = [*calls, *_below(stored, run, runs, found, own)]
    if held := {call.approval_id for call in calls if call.approval_id}:
        stored.decided = dict(ApprovalRequest.objects.filter(id__in=held).values_list("id", "decided_at"))
    rounds = Question.objects.filter(call_id__in=[call.id for call in calls], position=0).order_by("round")
    for call_id, begun, ready, used in rounds.values_list("call_id", "created_at", "ready_at", "used_at"):
        stored.asked.setdefault(call_id, []).append(Round(begun, ready, used))
    return _drawn(run_id, user_id, user_id == principal.user_id, run, stored)


def _below(stored: _Rows, run: Run, runs: QuerySet[Run], found: QuerySet[ToolCall], own: bool) -> list[ToolCall]:
    """Put the runs below a run into what is known; their calls."""
    below = list(
        runs.filter(root_run_id=run.root_run_id or run.id).exclude(id=run.id).order_by("created_at")[:MOST_RUNS]
    )
    stored.children = {each.parent_call_id: each for each in below if each.parent_call_id is not None}
    ids = [each.id for each in below]
    calls = list(found.filter(run_id__in=ids).order_by("run_id", "turn", "position")[:MOST_CALLS])
    for call in calls:
        assert call.run_id is not None, "it was looked for by its run"
        stored.calls.setdefault(call.run_id, []).append(call)
    for turn in Turn.objects.filter(run_id__in=ids).order_by("run_id", "number") if own else ():
        stored.turns.setdefault(turn.run_id, []).append(turn)
    return calls


_SLACK = timedelta(minutes=1)
_COLUMNS = (
    *("id", "user_id", "tenant_id", "turn", "position", "tool_name", "status", "error_code", "display", "approval_id"),
    *("created_at", "queued_at", "started_at", "finished_at", "waits_on_run", "run_id"),
)


def _drawn(run_id: uuid.UUID, user_id: uuid.UUID, own: bool, run: Run | None, stored: _Rows) -> Timeline:
    now = datetime.now(UTC)
    calls = stored.calls[run_id]
    shown = calls[:MOST_CALLS]
    is_live = run is not None and run.status in Run.OPEN
    begin = run.created_at if run is not None else min(call.created_at for call in shown)
    ends = [run.finished_at] if run is not None else []
    end = now if is_live else max(each for each in [begin, *ends, *(call.finished_at for call in shown)] if each)
    lines = _lines(run, run_id, stored, begin, end, now)
    begin = min([begin, *(each.start for line in lines for each in line.stretches)])
    drawn = Timeline(run_id, user_id, own, run, lines, len(shown), len(calls) > len(shown), begin, end, is_live)
    _draw(drawn)
    return drawn


def _lines(
    run: Run | None, run_id: uuid.UUID, stored: _Rows, begin: datetime, end: datetime, now: datetime
) -> list[Line]:
    """The lines of a run, those of a run that a call began behind the call's."""
    shown = stored.calls.get(run_id, [])[:MOST_CALLS]
    lines = [
        of_call(
            call, stored.decided.get(call.approval_id) if call.approval_id else None, stored.asked.get(call.id, ()), now
        )
        for call in shown
    ]
    turns = stored.turns.get(run_id)
    said = answers(turns) if turns else between(run, lines, begin, end)
    if run is not None and run.status == Run.Status.IN_PROGRESS and all(call.status in FINAL for call in shown):
        since = max(
            [begin, run.resumed_at or begin, *(each.stop for line in [*said, *lines] for each in line.stretches)]
        )
        said.append(Line(run.turns + 1, [Stretch("model", min(since, now), now)], is_open=True))
    found: list[Line] = []
    # The model's answer comes before the calls in it.
    for line in sorted([*said, *lines], key=_order):
        line.group = line.turn
        found.append(line)
        began = stored.children.get(line.call.id) if line.call is not None else None
        if began is None:
            continue
        line.began = began
        for below in _lines(began, began.id, stored, began.created_at, began.finished_at or now, now):
            below.depth, below.group = below.depth + 1, line.turn
            found.append(below)
    return found


def _order(line: Line) -> tuple[int, int]:
    return line.turn, -1 if line.call is None else line.call.position


def _draw(drawn: Timeline) -> None:
    work: list[Moments] = [
        (each.start, each.stop)
        for line in drawn.lines
        for each in line.stretches
        if each.kind not in ("held", "asked", "child")
    ]
    scale = Timescale(drawn.begin, drawn.end, work)
    for line in drawn.lines:
        began = line.stretches[0].start if line.stretches else line.call.created_at if line.call else drawn.begin
        line.begins = took(milliseconds(drawn.begin, began))
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


def _merged(stretches: list[Stretch]) -> list[Moments]:
    merged: list[Moments] = []
    for each in sorted(stretches, key=lambda stretch: stretch.start):
        if merged and each.start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], each.stop))
        else:
            merged.append((each.start, each.stop))
    return merged
