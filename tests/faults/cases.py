"""The arrows of both state machines, each with a run that takes it and what must have become of that run afterwards."""

from dataclasses import dataclass, field
from typing import Any

from tests.faults.journal import Arrow

FATES = ("rolled back", "committed")

EFFECT = 'call: slow_effect {{"url": "{url}/{name}"}}'
HELD_EFFECT = 'call: slow_effect {{"url": "{url}/held/{name}"}}'
REFUSED_EFFECT = 'call: slow_effect {{"url": "{url}/refused/{name}"}}'
GUARDED_EFFECT = 'call: guarded_effect {{"url": "{url}/{name}"}}'
LOOKUP = 'call: slow_lookup {{"url": "{url}/{name}"}}'
HELD_LOOKUP = 'call: slow_lookup {{"url": "{url}/held/{name}"}}'
LATE_LOOKUP = 'call: slow_lookup {{"url": "{url}/late/{name}"}}'
NOTE = 'call: slow_note {{"title": "{name}"}}'
SECOND = '\ncall: slow_note {{"title": "{name} second"}}'


@dataclass(frozen=True)
class Ending:
    """What a run has come to: each call as "success" or its error code with its attempts, and its effects or notes."""

    calls: tuple[str, ...]
    effects: int = 1
    run: str = "completed"


@dataclass(frozen=True)
class Case:
    """An arrow, and the chat whose run takes it; `endings` by fate.

    `cancels`: its user cancels the run during the call; `hurries`: its agent's time runs out during the call;
    `verdict`: what comes of its approval request (see Humans).
    """

    arrow: Arrow
    content: str
    endings: dict[str, Ending]
    chat: dict[str, Any] = field(default_factory=dict)
    cancels: bool = False
    hurries: bool = False
    verdict: str = ""

    @property
    def name(self) -> str:
        """What it is called in a test's report."""
        return f"{self.arrow[0]} {self.arrow[1] or 'new'} -> {self.arrow[2]}: {self.content.split()[1:2]}"


@dataclass(frozen=True)
class Batch:
    """Cases that the process `killed` is in the middle of at once; `lost`: what is killed before, to bring it there.

    `unswept`: until the kill nobody looks for leases that have run out, or for messages that were not taken, as those
    of a living process may when the machine is busy. So it is until what is `lost` is killed.
    """

    cases: list[Case]
    killed: str
    lost: str = ""
    unswept: bool = False


def _either(ending: Ending) -> dict[str, Ending]:
    return dict.fromkeys(FATES, ending)


def _one(rolled_back: str, committed: str, effects: tuple[int, int] = (1, 1)) -> dict[str, Ending]:
    return {
        fate: Ending((call,), count) for fate, call, count in zip(FATES, (rolled_back, committed), effects, strict=True)
    }


WEB = [
    Case(("runs", None, "in_progress"), NOTE, _either(Ending(("success 1",)))),
    Case(("tool_calls", None, "queued"), EFFECT, _either(Ending(("success 1",)))),
    Case(("tool_calls", None, "proposed"), EFFECT + SECOND, _either(Ending(("success 1", "success 1"), 2))),
    Case(("tool_calls", None, "error"), "call: no_such_tool {{}}", _either(Ending(("not_allowed 0",), 0))),
    Case(("tool_calls", "proposed", "queued"), EFFECT + SECOND, _either(Ending(("success 1", "success 1"), 2))),
    Case(("runs", "in_progress", "completed"), EFFECT, _either(Ending(("success 1",)))),
    Case(
        ("runs", "in_progress", "incomplete"),
        EFFECT,
        _either(Ending(("success 1",), run="incomplete")),
        {"agent": "brief"},
    ),
    Case(("runs", "in_progress", "failed"), "hello", _either(Ending((), 0, run="failed")), {"model": "openai/none"}),
    Case(
        ("tool_calls", "proposed", "error"),
        HELD_EFFECT + SECOND,
        _either(Ending(("success 1", "cancelled 0"), run="incomplete")),
        {"agent": "hasty"},
        hurries=True,
    ),
    Case(
        ("runs", "in_progress", "cancelled"),
        HELD_EFFECT + SECOND,
        _either(Ending(("success 1", "cancelled 0"), run="cancelled")),
        cancels=True,
    ),
]

WORKER = [
    Case(("tool_calls", "queued", "success"), NOTE, _either(Ending(("success 1",)))),
    Case(
        ("tool_calls", "queued", "error"),
        NOTE[:-2] + ', "fails": "at once"}}',
        _either(Ending(("execution_error 1",), 0)),
    ),
    Case(("tool_calls", "queued", "queued"), NOTE[:-2] + ', "fails": "late"}}', _either(Ending(("timeout 3",), 0))),
    Case(("tool_calls", "queued", "running"), EFFECT, _one("success 1", "outcome_unknown 1", (1, 0))),
    Case(("tool_calls", "running", "success"), EFFECT, _one("outcome_unknown 1", "success 1")),
    Case(("tool_calls", "running", "error"), REFUSED_EFFECT, _one("outcome_unknown 1", "execution_error 1")),
    Case(("tool_calls", "running", "success"), LOOKUP, _one("success 2", "success 1", (2, 1))),
    Case(("tool_calls", "running", "queued"), LATE_LOOKUP, _one("success 2", "success 2", (2, 2))),
]

SWEEPER = [
    # It was lost without a trace, so it is claimed now.
    Case(("tool_calls", "queued", "running"), NOTE[:-2] + ', "until": "{until}"}}', _one("success 1", "success 2")),
    Case(("tool_calls", "running", "queued"), HELD_LOOKUP, _either(Ending(("success 2",), 2))),
    Case(("tool_calls", "running", "error"), HELD_EFFECT, _either(Ending(("outcome_unknown 1",)))),
]

TAKING_OVER = [
    Case(("runs", "in_progress", "in_progress"), HELD_EFFECT, _either(Ending(("success 1",)))),
    Case(("runs", "in_progress", "completed"), HELD_EFFECT, _either(Ending(("success 1",)))),
    Case(("tool_calls", "proposed", "queued"), HELD_EFFECT + SECOND, _either(Ending(("success 1", "success 1"), 2))),
]

_DONE = _either(Ending(("success 1",)))
DECIDED = [
    Case(("tool_calls", None, "awaiting_approval"), GUARDED_EFFECT, _DONE, verdict="approve"),
    Case(("approval_requests", None, "pending"), GUARDED_EFFECT, _DONE, verdict="approve"),
    Case(("runs", "in_progress", "requires_action"), GUARDED_EFFECT, _DONE, verdict="approve"),
    Case(("approval_requests", "pending", "approved"), GUARDED_EFFECT, _DONE, verdict="approve"),
    Case(
        ("approval_requests", "pending", "denied"),
        GUARDED_EFFECT,
        _either(Ending(("approval_denied 0",), 0)),
        verdict="deny",
    ),
    Case(
        ("tool_calls", "awaiting_approval", "error"),
        GUARDED_EFFECT,
        _either(Ending(("approval_denied 0",), 0)),
        verdict="deny",
    ),
    Case(
        ("approval_requests", "pending", "cancelled"),
        GUARDED_EFFECT,
        _either(Ending(("cancelled 0",), 0)),
        verdict="cancel",
    ),
    Case(
        ("runs", "requires_action", "cancelled"),
        GUARDED_EFFECT,
        _either(Ending(("cancelled 0",), 0, run="cancelled")),
        verdict="end",
    ),
]

RESUMED = [
    Case(("runs", "requires_action", "in_progress"), GUARDED_EFFECT, _DONE, verdict="approve"),
    Case(("tool_calls", "awaiting_approval", "queued"), GUARDED_EFFECT, _DONE, verdict="approve"),
    Case(
        ("approval_requests", "pending", "expired"),
        GUARDED_EFFECT,
        _either(Ending(("approval_expired 0",), 0)),
        verdict="expire",
    ),
]

BATCHES = {
    "web": Batch(WEB, "web", unswept=True),
    "worker": Batch(WORKER, "worker", unswept=True),
    "sweeper": Batch(SWEEPER, "worker", lost="worker"),
    "taking over": Batch(TAKING_OVER, "worker", lost="web"),
    "decided": Batch(DECIDED, "web", unswept=True),
    "resumed": Batch(RESUMED, "worker"),
}
