"""The world of a replay: what the loop asks for is answered out of a recording, and what it does is compared with it.

Nothing here writes, sends or asks anybody. Calls that are sent end at once, as they are recorded to have ended; humans
decide in the order in which they did, and as late as they did. Where the recording ends, the loop meets what the real
one met there: the provider's failure, the end of its time, the loss of the run to a user who cancelled it.
"""

import asyncio
import uuid
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from approvals.news import News
from approvals.rights import Rights
from audit.recorder import Failure, NewCall, Place
from gateway.drives import Drive, RunLost
from gateway.providers.errors import ProviderError, ProviderRateLimited
from gateway.providers.interface import Answer, Family, OnOpaque, OnText, Prompt, Provider, Unsupported
from gateway.providers.registry import UnknownModel
from gateway.recordings import Recording, answer_of
from gateway.view import FINAL, Row, TurnView
from tenants.scoping import Scope
from tools import gates
from tools.dispatch import QueuedCall
from tools.gates import Gate
from tools.policy import Policy

_ENDED = ("success", "error")
# What a call's row holds before it has ended.
_OPEN: Row = {
    **dict.fromkeys(("error_code", "error_message", "error_field", "output", "output_bytes", "output_hash")),
    **dict.fromkeys(("started_at", "finished_at", "execution_time_ms", "approved_input", "resumed_decision")),
    **dict.fromkeys(("approval_status", "approval_used_at")),
    "display": "",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that the recording says (`expected`) and the loop would not have done (`got`), or that does not fit."""

    where: str
    what: str
    expected: Any
    got: Any


class RecordingEnds(Exception):
    """The replay cannot go on, and that is no difference: the message says why."""


class RecordedWorld:
    """See `gateway.drives.World`; `differences` are what it found so far, `prompts` what the model was asked."""

    def __init__(self, recording: Recording, run: Row):
        self.recording = recording
        self.run = run
        self.differences: list[Difference] = []
        self.prompts: list[Prompt] = []
        self.calls: dict[uuid.UUID, Row] = {}
        self.said: str | None = None
        self.suspensions = 0
        self.ids: deque[uuid.UUID] = deque()
        self._bell = _Bell(self)

    def differ(self, where: str, what: str, expected: Any, got: Any) -> None:
        """Keep a difference, if it is one."""
        if expected != got:
            self.differences.append(Difference(where, what, expected, got))

    def end(self) -> BaseException:
        """What the loop meets where the recording ends."""
        run = self.run
        if run["status"] not in FINAL:
            return RecordingEnds(f"the run is {run['status']}: what comes next has not happened yet")
        code, message = run["error_code"], run["error_message"]
        if run["status"] == "cancelled" and code is None:
            return RunLost()
        if run["incomplete_reason"] == "time":
            return TimeoutError()
        if code == "internal_error":
            return RecordingEnds("Toolgate itself failed here, which its log explains and the record does not")
        if code == "invalid_request":
            return Unsupported(message)
        if code == "unknown_model":
            return UnknownModel(message)
        if code == "provider_error":
            failure = (ProviderRateLimited if run["error_status"] == 429 else ProviderError)(message)
            failure.retryable = False
            return failure
        asked, turns = len(self.prompts), len(self.recording.turns)
        where = "its calls to end" if asked <= turns else "another answer"
        self.differ(f"turn {asked}", "the loop waits for", "nothing: the run is over", where)
        return RunLost()

    # --- what humans did ---------------------------------------------------------------------------------------------
    def undecided(self) -> list[Row]:
        """The calls that a human has yet to decide about in the replay, and did decide about."""
        waiting = [call for call in self.calls.values() if call["approval_status"] == "pending"]
        return [call for call in waiting if self._was_decided(call)]

    def decide(self) -> bool:
        """Let the next human decide; False when nobody did any more."""
        decided = self.undecided()
        if not decided:
            return False
        first = min(decided, key=lambda call: self.recording.requests[call["approval_id"]]["decided_at"])
        recorded = self.recorded(first["id"])
        status = self.recording.requests[first["approval_id"]]["status"]
        if status == "approved":
            first |= {"approval_status": status, "approved_input": recorded["approved_input"]}
        else:
            first |= recorded | {"approval_status": status, "approval_used_at": None}
        return True

    def _was_decided(self, call: Row) -> bool:
        request = self.recording.requests.get(call["approval_id"])
        if request is None or request["status"] == "pending":
            return False
        # What is withdrawn at the run's end is decided in the same moment.
        return not (request["status"] == "cancelled" and request["decided_at"] == self.run["finished_at"])

    def only_humans_are_waited_for(self) -> bool:
        """Whether every call that has not ended waits for a decision, and no suspension is left to happen before it."""
        is_open = [call for call in self.calls.values() if call["status"] not in _ENDED]
        turn = self.recording.turn(len(self.prompts))
        return (
            all(call["approval_status"] == "pending" for call in is_open)
            and turn is not None
            and self.suspensions >= turn["suspensions"]
        )

    # --- gateway.drives.World ----------------------------------------------------------------------------------------
    @asynccontextmanager
    async def step(self, it: Drive) -> AsyncIterator["RecordedStep"]:
        """No transaction; between two steps a human may decide."""
        if self.only_humans_are_waited_for():
            self.decide()
        yield RecordedStep(it, self)

    @contextmanager
    def watch(self, run_id: uuid.UUID) -> Iterator[asyncio.Event]:
        """An event that nobody but `dispatch` sets."""
        yield self._bell

    def provider(self, model: str) -> tuple[Provider, str]:
        """Who gives the recorded answers."""
        if self.run["error_code"] == "unknown_model" and len(self.prompts) == len(self.recording.turns):
            raise self.end()
        return _RecordedProvider(self), model.partition("/")[2]

    def answered(self, prompt: Prompt) -> Row:
        """The turn that answers a prompt; raises what `end` says when none does."""
        self.prompts.append(prompt)
        number = len(self.prompts)
        turn = self.recording.turn(number)
        if turn is None:
            raise self.end()
        calls = self.recording.of_turn(number)
        for call in calls:
            if call["row_key"] is None:
                raise RecordingEnds(f"the payload of {call['tool_name']} ({call['id']}) in turn {number} was erased")
        self.ids = deque(call["id"] for call in calls)
        self.suspensions = 0
        return turn

    def gates(self, known: Rights) -> Iterable[Gate]:
        """Gates that answer each call as it is recorded."""
        return _RecordedGates(self, self.recording.of_turn(len(self.prompts)))

    def new_id(self) -> uuid.UUID:
        """The recorded ids, in order; where there are more calls than that, any."""
        return self.ids.popleft() if self.ids else uuid.uuid4()

    async def dispatch(self, calls: Sequence[QueuedCall]) -> None:
        """Each ends as it is recorded, unless the run's end overtook it."""
        for _, _, call_id, _ in calls:
            recorded = self.recorded(call_id)
            if recorded["status"] in _ENDED and not _withdrawn(recorded):
                self.calls[call_id] |= recorded
                self._bell.set()

    async def go_on(self, scope: Scope, run_id: uuid.UUID) -> None:
        """Nobody is asked."""

    async def spread(self, news: News) -> None:
        """Nobody is told."""

    def recorded(self, call_id: uuid.UUID) -> Row:
        """A call's row as it is recorded."""
        return next(call for call in self.recording.calls if call["id"] == call_id)


def _withdrawn(call: Row) -> bool:
    """Whether a call that the gates let through ended without having been begun."""
    return bool(call["error_code"] == "cancelled" and call["attempt"] == 0)


class RecordedStep:
    """See `gateway.drives.Step`."""

    def __init__(self, it: Drive, world: RecordedWorld):
        self._it = it
        self._world = world

    async def rights(self) -> Rights:
        """As they are now: the record keeps what the gates answered, not all that they went by."""
        assert self._world.recording.known is not None
        return self._world.recording.known

    async def calls(self, turn: TurnView) -> list[Row]:
        """As far as the replay has taken them."""
        found = [dict(call) for call in self._world.calls.values() if call["turn"] == turn.number]
        return sorted(found, key=lambda call: call["position"])

    async def commit_turn(self, values: Row) -> Row | None:
        """Compare the turn with its row."""
        row = self._it.view.row
        number = row["turns"] + 1
        recorded = self._world.recording.turn(number)
        assert recorded is not None, "the provider has answered out of it"
        for name in ("text", "calls", "finish_reason", "input_tokens", "output_tokens"):
            self._world.differ(f"turn {number}", name, recorded[name], values[name])
        more = [orjson.loads(each or "{}") for each in (recorded["more"], values["more"])]
        self._world.differ(f"turn {number}", "more", *more)
        spent = {name: row[name] + values[name] for name in ("input_tokens", "output_tokens")}
        return row | spent | {"turns": number}

    async def commit_last_turn(self, turn: TurnView, values: Row, end: Row) -> Row | None:
        """Compare the turn with its row."""
        return self._ended(await self.commit_turn(values), end)

    async def finish(self, end: Row) -> Row | None:
        """Keep how the loop ended the run."""
        return self._ended(self._it.view.row, end)

    def _ended(self, row: Row | None, end: Row) -> Row:
        self._world.said = end["content"]
        return (row or {}) | {name: value for name, value in end.items() if name != "content"}

    async def suspend(self, turn: TurnView, notice: str) -> Row | None:
        """Let go of the run, unless it was ended before it was let go of."""
        recorded = self._world.recording.turn(turn.number)
        unfinished = recorded is not None and self._world.suspensions < recorded["suspensions"]
        if not unfinished and not self._world.undecided():
            raise self._world.end()
        self._world.suspensions += 1
        return self._it.view.row | {"status": "requires_action"}

    async def propose(self, place: Place, judged: list[NewCall], queued: frozenset[uuid.UUID]) -> list[Row]:
        """Compare what the pipeline made of the model's words with the calls' rows."""
        for recorded, call in zip(self._world.recording.of_turn(place.turn), judged, strict=True):
            where = name_of(recorded)
            for name in ("position", "tool_name", "input", "input_raw", "params_hash", "approval_id"):
                self._world.differ(where, name, recorded[name], getattr(call, name))
            self._world.differ(where, "gates", _bare(recorded["decision"]), _bare(call.decision))
            state: Row = {"status": "queued" if call.id in queued else "proposed"}
            if call.approval_id:
                state = {"status": "awaiting_approval", "approval_status": "pending"}
            if call.refusal is not None:
                said = ("code", "message", "field")
                state = {"status": "error", "display": call.refusal.display}
                state |= {f"error_{name}": getattr(call.refusal, name) for name in said}
            self._world.calls[call.id] = recorded | _OPEN | state
        return [dict(self._world.calls[call.id]) for call in judged]

    async def use_rules(self, rule_ids: Iterable[str]) -> None:
        """They were counted then."""

    async def ask_humans(
        self, place: Place, held: Sequence[NewCall], policy: Policy, *, agent: str, context: list[Row]
    ) -> News:
        """Compare what this run's turns had said with what the approvers were shown."""
        own = sum(bool(turn.text.strip()) for turn in self._it.view.turns)
        for call in held:
            request = self._world.recording.requests.get(call.approval_id) if call.approval_id else None
            shown = request["context"] if request else []
            last = min(own, len(context))
            self._world.differ(f"turn {place.turn}", "what approvers were shown", shown[-last:], context[-last:])
        return News([])

    async def enqueue(self, call_ids: list[uuid.UUID]) -> list[uuid.UUID]:
        """Queue them."""
        for call_id in call_ids:
            self._world.calls[call_id]["status"] = "queued"
        return call_ids

    async def resume(self, call: Row, known: Rights) -> bool:
        """As the gates are recorded to have answered, the second time."""
        recorded = self._world.recorded(call["id"])
        state = self._world.calls[call["id"]]
        if recorded["resumed_decision"] is None:
            raise self._world.end()
        state |= {"resumed_decision": recorded["resumed_decision"], "approval_used_at": recorded["approval_used_at"]}
        if all(answer["ok"] for answer in recorded["resumed_decision"]):
            state["status"] = "queued"
            return True
        state |= recorded
        return False

    async def note(self, request_ids: list[uuid.UUID]) -> None:
        """The loop has seen them."""
        for call in self._world.calls.values():
            if call["approval_id"] in request_ids:
                call["approval_used_at"] = self._it.view.row["created_at"]

    async def withdraw(self, failure: Failure) -> News:
        """End what has not begun."""
        said = {"error_code": failure.code, "error_message": failure.message, "error_field": failure.field}
        for call in self._world.calls.values():
            if call["status"] not in _ENDED:
                call |= {"status": "error", "display": failure.display, **said}
        return News([])


def name_of(call: Row) -> str:
    """A call in words."""
    return f"turn {call['turn']}, call {call['position'] + 1} ({ascii(call['tool_name'])[1:-1]})"


def _bare(answers: list[Row]) -> list[tuple[Any, ...]]:
    return [tuple(answer.get(name) for name in ("gate", "ok", "code", "model", "user", "log")) for answer in answers]


class _Bell(asyncio.Event):
    """An event that nobody will set any more once it is waited for: every call that was sent has ended."""

    def __init__(self, world: RecordedWorld):
        super().__init__()
        self._world = world

    async def wait(self) -> Any:
        if not self.is_set():
            raise self._world.end()
        return True


class _RecordedProvider:
    """Answers as the model did."""

    name = "recorded"
    family: Family = "demo"

    def __init__(self, world: RecordedWorld):
        self._world = world

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """The turn's answer; one that its time cut off is cut off again."""
        turn = self._world.answered(prompt)
        answer = answer_of(turn, self._world.recording.of_turn(turn["number"]))
        if answer.finish_reason == "cut_off":
            if on_text is not None:
                on_text(answer.text)
            raise TimeoutError
        self.family = orjson.loads(turn["more"] or "{}").get("family") or self.family
        return answer

    async def close(self) -> None:
        """Nothing is open."""


class _RecordedGates:
    """The gates' answers, a call at each iteration."""

    def __init__(self, world: RecordedWorld, calls: list[Row]):
        self._world = world
        self._left = iter(calls)

    def __iter__(self) -> Iterator[Gate]:
        call = next(self._left)
        self._world.ids = deque(each for each in (call["id"], call["approval_id"]) if each)
        for kept in call["decision"]:
            yield _answering(gates.Answer(**kept))


def _answering(answer: gates.Answer) -> Gate:
    return lambda candidate, policy, caller: answer
