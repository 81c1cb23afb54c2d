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

from approvals.notifications.events import ApprovalEvents
from approvals.requests.rights import Rights
from gateway.providers.errors import ProviderError, ProviderRateLimited
from gateway.providers.interface import Answer, Family, OnOpaque, OnText, Prompt, Provider, Unsupported
from gateway.providers.registry import UnknownModel
from gateway.runs.execution import RunExecution, RunLost
from gateway.runs.replay.recording import Recording, answer_of
from gateway.runs.replay.unit_of_work import ENDED, ReplayUnitOfWork
from gateway.runs.rows import Run, Turn
from gateway.runs.view import FINAL, Row
from tenants.scope.transactions import TenantScope
from tools.gates import tool_gates
from tools.gates.tool_gates import Gate
from tools.invocation.dispatch import QueuedCall


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that the recording says (`expected`) and the loop would not have done (`got`), or that does not fit."""

    where: str
    what: str
    expected: Any
    got: Any


class RecordingEnds(Exception):
    """The replay cannot go on, and that is no difference: the message says why."""


class ReplayPorts:
    """See `gateway.runs.execution.RunPorts`; `differences`: found so far, `prompts`: what the model was asked."""

    def __init__(self, recording: Recording, run: Run):
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
        if run.status not in FINAL:
            return RecordingEnds(f"the run is {run.status}: what comes next has not happened yet")
        code, message = run.error_code, run.error_message or ""
        if run.status == "cancelled" and code is None:
            return RunLost()
        if run.incomplete_reason == "time":
            return TimeoutError()
        if code == "internal_error":
            return RecordingEnds("Toolgate itself failed here, which its log explains and the record does not")
        if code == "invalid_request":
            return Unsupported(message)
        if code == "unknown_model":
            return UnknownModel(message)
        if code == "provider_error":
            failure = (ProviderRateLimited if run.error_status == 429 else ProviderError)(message)
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
        return not (request["status"] == "cancelled" and request["decided_at"] == self.run.finished_at)

    def only_humans_are_waited_for(self) -> bool:
        """Whether every call that has not ended waits for a decision, and no suspension is left to happen before it."""
        is_open = [call for call in self.calls.values() if call["status"] not in ENDED]
        turn = self.recording.turn(len(self.prompts))
        return (
            all(call["approval_status"] == "pending" for call in is_open)
            and turn is not None
            and self.suspensions >= turn.suspensions
        )

    # --- gateway.runs.execution.RunPorts ------------------------------------------------------------------------------
    @asynccontextmanager
    async def step(self, execution: RunExecution) -> AsyncIterator[ReplayUnitOfWork]:
        """No transaction; between two steps a human may decide."""
        if self.only_humans_are_waited_for():
            self.decide()
        yield ReplayUnitOfWork(execution, self)

    @contextmanager
    def watch(self, run_id: uuid.UUID) -> Iterator[asyncio.Event]:
        """An event that nobody but `dispatch` sets."""
        yield self._bell

    def provider(self, model: str) -> tuple[Provider, str]:
        """Who gives the recorded answers."""
        if self.run.error_code == "unknown_model" and len(self.prompts) == len(self.recording.turns):
            raise self.end()
        return _RecordedProvider(self), model.partition("/")[2]

    def answered(self, prompt: Prompt) -> Turn:
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
            if recorded["status"] in ENDED and not _withdrawn(recorded):
                self.calls[call_id] |= recorded
                self._bell.set()

    async def request_takeover(self, scope: TenantScope, run_id: uuid.UUID) -> None:
        """Nobody is asked."""

    async def publish(self, news: ApprovalEvents) -> None:
        """Nobody is told."""

    def recorded(self, call_id: uuid.UUID) -> Row:
        """A call's row as it is recorded."""
        return next(call for call in self.recording.calls if call["id"] == call_id)


def _withdrawn(call: Row) -> bool:
    """Whether a call that the gates let through ended without having been begun."""
    return bool(call["error_code"] == "cancelled" and call["attempt"] == 0)


class _Bell(asyncio.Event):
    """An event that nobody will set any more once it is waited for: every call that was sent has ended."""

    def __init__(self, ports: ReplayPorts):
        super().__init__()
        self._ports = ports

    async def wait(self) -> Any:
        if not self.is_set():
            raise self._ports.end()
        return True


class _RecordedProvider:
    """Answers as the model did."""

    name = "recorded"
    family: Family = "demo"

    def __init__(self, ports: ReplayPorts):
        self._ports = ports

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """The turn's answer; one that its time cut off is cut off again."""
        turn = self._ports.answered(prompt)
        answer = answer_of(turn, self._ports.recording.of_turn(turn.number))
        if answer.finish_reason == "cut_off":
            if on_text is not None:
                on_text(answer.text)
            raise TimeoutError
        self.family = turn.details.get("family") or self.family
        return answer

    async def close(self) -> None:
        """Nothing is open."""


class _RecordedGates:
    """The gates' answers, a call at each iteration."""

    def __init__(self, ports: ReplayPorts, calls: list[Row]):
        self._ports = ports
        self._left = iter(calls)

    def __iter__(self) -> Iterator[Gate]:
        call = next(self._left)
        self._ports.ids = deque(each for each in (call["id"], call["approval_id"]) if each)
        for kept in call["decision"]:
            yield _answering(tool_gates.Answer(**kept))


def _answering(answer: tool_gates.Answer) -> Gate:
    return lambda candidate, policy, caller: answer
