"""The ports of a replay: what the loop asks for is answered out of a recording, and what it does is compared with it.

Nothing here writes, sends or asks anybody. Calls that are sent end at once, as they are recorded to have ended; humans
decide in the order in which they did, and as late as they did. Where the recording ends, the loop meets what the real
one met there: the provider's failure, the end of its time, the loss of the run to a user who cancelled it.
"""

import uuid
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from approvals.events import ApprovalEvents
from gateway.budgets.prices import Price
from gateway.providers.interface import Answer, Family, OnOpaque, OnText, Prompt, Provider
from gateway.providers.routing.resolution import ResolvedModel
from gateway.runs.execution import RunExecution
from gateway.runs.replay.recording import answer_of
from gateway.runs.replay.state import ReplayState
from gateway.runs.replay.unit_of_work import ReplayUnitOfWork
from gateway.runs.rows import RunCall
from tools.gates.interface import Candidate, Gate, GateContext, GateResult
from tools.invocation.dispatch import QueuedCall
from tools.invocation.live.wakeups import WakeUp


class ReplayPorts:
    """See `gateway.runs.execution.RunPorts`."""

    def __init__(self, state: ReplayState):
        self._state = state
        self._bell = _Bell(state)

    @asynccontextmanager
    async def step(self, execution: RunExecution, *, alone: bool = False) -> AsyncIterator[ReplayUnitOfWork]:
        """No transaction; between two steps a human may decide."""
        if not alone and self._state.only_humans_are_waited_for():
            self._state.decide()
        yield ReplayUnitOfWork(execution, self._state)

    @contextmanager
    def watch(self, run_id: uuid.UUID) -> Iterator[WakeUp]:
        """An event that nobody but `dispatch` sets."""
        yield self._bell

    async def service_context(self, execution: RunExecution, offered: Sequence[str]) -> str:
        """Nothing: the recorded answers need no prompt."""
        return ""

    async def route(self, execution: RunExecution) -> Sequence[ResolvedModel]:
        """Who gives the recorded answers, whichever model it was."""
        state, name = self._state, execution.view.run.model
        before_it_was_asked = ("unknown_model", "model_not_allowed", "killed")
        if state.run.error_code in before_it_was_asked and len(state.prompts) == len(state.recording.turns):
            raise state.end()
        provider = _RecordedProvider(state)
        return [ResolvedModel(name, "", name.partition("/")[2], "demo", False, None, lambda: provider)]

    async def still_ours(self, execution: RunExecution) -> bool:
        """Nobody else has it."""
        return True

    def within_budgets(
        self, execution: RunExecution, provider: Provider, turn: int, model: str, price: Price | None
    ) -> Provider:
        """The provider: a replay spends nothing."""
        return provider

    def gates(self) -> Iterable[Gate]:
        """Gates that answer each call as it is recorded."""
        return _RecordedGates(self._state, self._state.recording.of_turn(len(self._state.prompts)))

    def new_id(self) -> uuid.UUID:
        """The recorded ids, in order; where there are more calls than that, any."""
        return self._state.ids.popleft() if self._state.ids else uuid.uuid4()

    async def dispatch(self, calls: Sequence[QueuedCall]) -> None:
        """Each ends as it is recorded, unless the run's end overtook it."""
        for _, _, call_id, _ in calls:
            recorded = self._state.recorded(call_id)
            if recorded.final and not _withdrawn(recorded):
                self._state.calls[call_id] = recorded
                self._bell.set()

    def take_over_again(self, execution: RunExecution) -> None:
        """Nobody does."""

    async def publish(self, events: ApprovalEvents) -> None:
        """Nobody is told."""


def _withdrawn(call: RunCall) -> bool:
    """Whether a call that the gates let through ended without having been begun."""
    return call.error_code == "cancelled" and call.attempt == 0


class _Bell(WakeUp):
    """An event that nobody will set any more once it is waited for: every call that was sent has ended."""

    def __init__(self, state: ReplayState):
        super().__init__()
        self._state = state

    async def wait(self) -> Any:
        if not self.is_set():
            raise self._state.end()
        return True

    async def gathered(self, times: int, seconds: float) -> None:
        """No longer than until it is set."""
        await self.wait()


class _RecordedProvider:
    """Answers as the model did."""

    name = "recorded"
    family: Family = "demo"

    def __init__(self, state: ReplayState):
        self._state = state

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """The turn's answer; one that its time cut off is cut off again."""
        turn = self._state.answered(prompt)
        answer = answer_of(turn, self._state.recording.of_turn(turn.number))
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

    def __init__(self, state: ReplayState, calls: list[RunCall]):
        self._state = state
        self._left = iter(calls)
        self._state.ids = deque()

    def __iter__(self) -> Iterator[Gate]:
        call = next(self._left)
        # They are asked for once all calls of the turn have been answered, in order.
        self._state.ids.extend(each for each in (call.id, call.approval_id) if each)
        for answer in call.decision:
            yield _RecordedGate(GateResult(**answer))


class _RecordedGate(Gate):
    """Answers as it is recorded."""

    def __init__(self, answer: GateResult):
        self._answer = answer

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """The recorded answer, whatever is asked."""
        return self._answer
