"""What the loop writes in a replay, and what it reads back: held against the recording, and kept in memory alone."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from approvals.events import ApprovalEvents
from audit.calls.proposing import NewCall, Place
from audit.calls.recorder import Failure
from audit.calls.rows import ToolCall
from gateway.runs.execution import RunExecution
from gateway.runs.replay.state import ReplayState
from gateway.runs.rows import Run, RunCall, RunEnd, TurnValues
from gateway.runs.view import TurnView
from tenants.scope import rows
from tools.gates.interface import Rights, Taint
from tools.gates.policy import Policy

# What a call's row holds before it has ended.
_OPEN: dict[str, Any] = {
    **dict.fromkeys(("error_code", "error_message", "error_field", "output", "output_bytes", "output_hash")),
    **dict.fromkeys(("started_at", "finished_at", "execution_time_ms", "approved_input", "resumed_decision")),
    **dict.fromkeys(("approval_status", "approval_used_at")),
    "display": "",
}


class ReplayUnitOfWork:
    """See `gateway.runs.execution.UnitOfWork`."""

    def __init__(self, execution: RunExecution, state: ReplayState):
        self._execution = execution
        self._state = state

    async def rights(self) -> Rights:
        """As they are now: the record keeps what the gates answered, not all that they went by."""
        assert self._state.recording.known is not None
        return self._state.recording.known

    async def calls(self, turn: TurnView) -> list[RunCall]:
        """As far as the replay has taken them."""
        found = [call for call in self._state.calls.values() if call.turn == turn.number]
        return sorted(found, key=lambda call: call.position)

    async def commit_turn(
        self,
        values: TurnValues,
        place: Place,
        evaluated: list[NewCall],
        queued: frozenset[uuid.UUID],
        rights: Rights,
        seen: Taint | None = None,
    ) -> tuple[Run | None, Sequence[ToolCall]]:
        """Compare the turn and its calls with their rows."""
        return self._counted(values), await self.propose(place, evaluated, queued, rights)

    def _counted(self, values: TurnValues) -> Run:
        run = self._execution.view.run
        number = run.turns + 1
        recorded = self._state.recording.turn(number)
        assert recorded is not None, "the provider has answered out of it"
        for name in ("text", "calls", "finish_reason", "input_tokens", "output_tokens"):
            self._state.differ(f"turn {number}", name, getattr(recorded, name), getattr(values, name))
        self._state.differ(f"turn {number}", "more", recorded.details, values.details)
        return replace(
            run,
            turns=number,
            input_tokens=run.input_tokens + values.input_tokens,
            output_tokens=run.output_tokens + values.output_tokens,
        )

    async def taint(self) -> Taint:
        """Nothing: the gates answer as it is recorded."""
        return Taint()

    async def commit_last_turn(self, turn: TurnView, values: TurnValues, end: RunEnd) -> Run | None:
        """Compare the turn with its row."""
        return self._ended(self._counted(values), end)

    async def finish(self, end: RunEnd) -> Run | None:
        """Keep how the loop ended the run."""
        return self._ended(self._execution.view.run, end)

    def _ended(self, run: Run, end: RunEnd) -> Run:
        values = rows.values(end)
        self._state.said = values.pop("content")
        return replace(run, **values)

    async def suspend(self, turn: TurnView, notice: str) -> Run | None:
        """Release the run, unless it was ended before."""
        recorded = self._state.recording.turn(turn.number)
        unfinished = recorded is not None and self._state.suspensions < recorded.suspensions
        if not unfinished and not self._state.undecided():
            raise self._state.end()
        self._state.suspensions += 1
        return replace(self._execution.view.run, status="requires_action")

    async def propose(
        self, place: Place, evaluated: list[NewCall], queued: frozenset[uuid.UUID], rights: Rights
    ) -> list[RunCall]:
        """Compare what the pipeline made of the model's words with the calls' rows."""
        assert place.turn is not None, "a run's calls have a turn"
        for recorded, call in zip(self._state.recording.of_turn(place.turn), evaluated, strict=True):
            where = name_of(recorded)
            for name in ("position", "tool_name", "input", "input_raw", "params_hash", "approval_id"):
                self._state.differ(where, name, getattr(recorded, name), getattr(call, name))
            self._state.differ(where, "gates", _bare(recorded.decision), _bare(call.decision))
            state: dict[str, Any] = {"status": "queued" if call.id in queued else "proposed"}
            if call.approval_id:
                state = {"status": "awaiting_approval", "approval_status": "pending"}
            if call.refusal is not None:
                said = ("code", "message", "field")
                state = {"status": "error", "display": call.refusal.display}
                state |= {f"error_{name}": getattr(call.refusal, name) for name in said}
            self._state.calls[call.id] = replace(recorded, **_OPEN | state)
        return [self._state.calls[call.id] for call in evaluated]

    async def use_rules(self, rule_ids: Iterable[str]) -> None:
        """They were counted then."""

    async def ask_humans(
        self, place: Place, held: Sequence[NewCall], policy: Policy, *, agent: str, context: list[dict[str, Any]]
    ) -> ApprovalEvents:
        """Compare what this run's turns had said with what the approvers were shown."""
        own = sum(bool(turn.text.strip()) for turn in self._execution.view.turns)
        for call in held:
            request = self._state.recording.requests.get(call.approval_id) if call.approval_id else None
            shown = request.context if request else []
            last = min(own, len(context))
            self._state.differ(f"turn {place.turn}", "what approvers were shown", shown[-last:], context[-last:])
        return ApprovalEvents([])

    async def enqueue(self, call_ids: list[uuid.UUID]) -> list[uuid.UUID]:
        """Queue them."""
        for call_id in call_ids:
            self._state.change(call_id, status="queued")
        return call_ids

    async def resume(self, call: RunCall, known: Rights) -> bool:
        """As the gates are recorded to have answered, the second time."""
        recorded = self._state.recorded(call.id)
        if recorded.resumed_decision is None:
            raise self._state.end()
        if all(answer["ok"] for answer in recorded.resumed_decision):
            again = {"resumed_decision": recorded.resumed_decision, "approval_used_at": recorded.approval_used_at}
            self._state.change(call.id, status="queued", **again)
            return True
        self._state.calls[call.id] = recorded
        return False

    async def go_on(self, call: RunCall, known: Rights) -> bool:
        """Never: in a replay, what a call asked is part of how it ran."""
        raise self._state.end()

    async def note(self, request_ids: list[uuid.UUID]) -> None:
        """The loop has seen them."""
        for call in list(self._state.calls.values()):
            if call.approval_id in request_ids:
                self._state.change(call.id, approval_used_at=self._execution.view.run.created_at)

    async def withdraw(self, failure: Failure) -> ApprovalEvents:
        """End what has not begun."""
        said = {"error_code": failure.code, "error_message": failure.message, "error_field": failure.field}
        for call in list(self._state.calls.values()):
            if not call.final:
                self._state.change(call.id, status="error", display=failure.display, **said)
        return ApprovalEvents([])


def name_of(call: RunCall) -> str:
    """A call in words."""
    return f"turn {call.turn}, call {call.position + 1} ({ascii(call.tool_name)[1:-1]})"


def _bare(answers: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(answer.get(name) for name in ("gate", "ok", "code", "model", "user", "log")) for answer in answers]
