"""How far a replay has come: what the loop was asked and did so far, beside what is recorded of it."""

import uuid
from collections import deque
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from approvals.rows import ApprovalRequest
from gateway.budgets.errors import RUN_LIMITS, BudgetExhausted, BudgetRefusal, ModelUnpriced
from gateway.providers.errors import ProviderError, ProviderRateLimited
from gateway.providers.interface import Prompt, Unsupported
from gateway.providers.registry import UnknownModel
from gateway.providers.routing.errors import ModelNotAllowed
from gateway.runs.execution import RunLost
from gateway.runs.replay.recording import Recording
from gateway.runs.rows import Run, RunCall, Turn
from gateway.runs.view import FINAL

_NO_REQUEST = uuid.UUID(int=0)
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that the recording says (`expected`) and the loop would not have done (`got`), or that does not fit."""

    where: str
    what: str
    expected: Any
    got: Any


class RecordingEnds(Exception):
    """The replay cannot go on, and that is no difference: the message says why."""


class ReplayState:
    """One replay: `differences` found so far, `prompts` that the model was asked, `calls` as far as they have come.

    `said` is the assistant's message, `suspensions` counts those of the turn, `ids` are the next ones to give out.
    """

    def __init__(self, recording: Recording, run: Run):
        self.recording = recording
        self.run = run
        self.differences: list[Difference] = []
        self.prompts: list[Prompt] = []
        self.calls: dict[uuid.UUID, RunCall] = {}
        self.said: str | None = None
        self.suspensions = 0
        self.ids: deque[uuid.UUID] = deque()

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
        if code in ("model_not_allowed", "killed"):
            refused = ModelNotAllowed("")
            refused.code, refused.detail, refused.status = code, message, run.error_status or refused.status
            return refused
        if code in (BudgetExhausted.code, ModelUnpriced.code, *RUN_LIMITS):
            return BudgetRefusal.again(code, message, run.error_status or BudgetRefusal.status)
        if code == "provider_error":
            failure = (ProviderRateLimited if run.error_status == 429 else ProviderError)(message)
            failure.retryable = False
            return failure
        asked, turns = len(self.prompts), len(self.recording.turns)
        where = "its calls to end" if asked <= turns else "another answer"
        self.differ(f"turn {asked}", "the loop waits for", "nothing: the run is over", where)
        return RunLost()

    def answered(self, prompt: Prompt) -> Turn:
        """The turn that answers a prompt; raises what `end` says when none does."""
        self.prompts.append(prompt)
        number = len(self.prompts)
        turn = self.recording.turn(number)
        if turn is None:
            raise self.end()
        calls = self.recording.of_turn(number)
        for call in calls:
            if call.row_key is None:
                raise RecordingEnds(f"the payload of {call.tool_name} ({call.id}) in turn {number} was erased")
        self.ids = deque(call.id for call in calls)
        self.suspensions = 0
        return turn

    # --- what humans did ---------------------------------------------------------------------------------------------
    def undecided(self) -> list[tuple[RunCall, ApprovalRequest]]:
        """The calls that a human has yet to decide about in the replay, and did decide about."""
        waiting = [call for call in self.calls.values() if call.approval_status == "pending"]
        requests = [(call, self.recording.requests.get(call.approval_id or _NO_REQUEST)) for call in waiting]
        return [(call, request) for call, request in requests if request is not None and self._was_decided(request)]

    def decide(self) -> bool:
        """Let the next human decide; False when nobody did any more."""
        decided = self.undecided()
        if not decided:
            return False
        call, request = min(decided, key=lambda each: each[1].decided_at or _NEVER)
        recorded = self.recorded(call.id)
        if request.status == "approved":
            self.change(call.id, approval_status=request.status, approved_input=recorded.approved_input)
        else:
            self.calls[call.id] = replace(recorded, approval_status=request.status, approval_used_at=None)
        return True

    def _was_decided(self, request: ApprovalRequest) -> bool:
        if request.status == "pending":
            return False
        # What is withdrawn at the run's end is decided in the same moment.
        return not (request.status == "cancelled" and request.decided_at == self.run.finished_at)

    def only_humans_are_waited_for(self) -> bool:
        """Whether every call that has not ended waits for a decision, and no suspension is left to happen before it."""
        is_open = [call for call in self.calls.values() if not call.final]
        turn = self.recording.turn(len(self.prompts))
        return (
            all(call.approval_status == "pending" for call in is_open)
            and turn is not None
            and self.suspensions >= turn.suspensions
        )

    def change(self, call_id: uuid.UUID, **columns: Any) -> None:
        """Take a call on."""
        self.calls[call_id] = replace(self.calls[call_id], **columns)

    def recorded(self, call_id: uuid.UUID) -> RunCall:
        """A call's row as it is recorded."""
        return next(call for call in self.recording.calls if call.id == call_id)
