"""A run's ports that are played: a model with a script, calls that end when they are told to, and rows in memory."""

import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from approvals.events import ApprovalEvents
from approvals.requests import callers_rights
from audit.calls.proposing import NewCall, Place
from audit.calls.recorder import Failure
from gateway.providers.interface import Answer, Family, Prompt, SuggestedCall, UserMessage
from gateway.providers.routing.resolution import ResolvedModel
from gateway.runs.execution import RunExecution
from gateway.runs.rows import Run, RunCall, RunEnd, TurnValues
from gateway.runs.view import RunView, TurnView
from tenants.scope import rows
from tenants.scope.transactions import TenantScope
from tests.gateway.runs.rows import run_row
from tools.gates.interface import Candidate, Gate, GateContext, GateResult, Rights, RightsChanged, Taint
from tools.interface import Tier
from tools.invocation.live.wakeups import WakeUp

PROFILE = {"instructions": "", "max_turns": 3, "tool_seconds": 30, "max_result_bytes": 1000, "slug": "default"}


TIERS = list(Tier)


class Model:
    """Answers with what it is given, one a turn; an exception is raised. `asked` are its prompts."""

    name = "played"
    family: Family = "demo"

    def __init__(self, *answers: Answer | Exception):
        self._answers = deque(answers)
        self.asked: list[Prompt] = []

    async def ask(self, prompt: Prompt, on_text: Any = None, on_opaque: Any = None) -> Answer:
        self.asked.append(prompt)
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        if on_text is not None:
            on_text(answer.text)
        return answer

    async def close(self) -> None:
        pass


class Providers:
    """One model, whatever is asked for."""

    default_model = "openai/gpt-4o-mini"

    def __init__(self, model: Model):
        self.model = model

    def has(self, slug: str) -> bool:
        return True

    def check(self, model: str) -> tuple[str, str]:
        slug, _, name = model.partition("/")
        return slug, name

    def resolve(self, model: str) -> tuple[Model, str]:
        return self.model, model.partition("/")[2]


def calling(*names: str, text: str = "") -> Answer:
    """An answer that suggests a call of each of these tools."""
    return Answer(text, tuple(SuggestedCall(str(at), name, "{}") for at, name in enumerate(names)), "tool_calls")


class PlayedPorts:
    """`done` is what was written and sent, in order; `held` are tools whose calls wait for a human.

    `lost`: somebody else has the run. `rights_change` so often between two looks at them.
    """

    def __init__(self, model: Model, held: Sequence[str] = (), *, lost: bool = False, rights_change: int = 0):
        self.model, self.held, self.lost, self.rights_change = model, held, lost, rights_change
        self.done: list[Any] = []
        self.calls: dict[uuid.UUID, RunCall] = {}
        self.end: RunEnd | None = None
        self._event = WakeUp()

    def change(self, call_id: uuid.UUID, **columns: Any) -> None:
        """What a worker or a human does to a call."""
        self.calls[call_id] = replace(self.calls[call_id], **columns)

    @asynccontextmanager
    async def step(self, execution: RunExecution, *, alone: bool = False) -> AsyncIterator["PlayedUnitOfWork"]:
        yield PlayedUnitOfWork(self, execution)

    @contextmanager
    def watch(self, run_id: uuid.UUID) -> Iterator[WakeUp]:
        yield self._event

    async def route(self, execution: RunExecution) -> Sequence[ResolvedModel]:
        name = execution.view.run.model
        return [ResolvedModel(name, "played", name, "demo", False, None, lambda: self.model)]

    async def still_ours(self, execution: RunExecution) -> bool:
        return not self.lost

    def within_budgets(self, execution: RunExecution, provider: Model, *asked: Any) -> Model:
        return provider

    def gates(self) -> Iterable[Gate]:
        return (_Holding(self.held),)

    def new_id(self) -> uuid.UUID:
        return uuid.uuid4()

    async def dispatch(self, calls: Sequence[Any]) -> None:
        for call in calls:
            call_id = next(each for each in call if each in self.calls)
            self.done.append(("sent", self.calls[call_id].tool_name))
            self.change(call_id, status="success", output={}, output_bytes=2)
            self._event.set()

    def take_over_again(self, execution: RunExecution) -> None:
        self.done.append("takeover")

    async def publish(self, events: ApprovalEvents) -> None:
        pass


class _Holding(Gate):
    """Holds the calls of these tools for a human."""

    name = "approval"

    def __init__(self, held: Sequence[str]):
        self._held = held

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        return self.passes(holds=candidate.name in self._held)


class PlayedUnitOfWork:
    """See `gateway.runs.execution.UnitOfWork`."""

    def __init__(self, ports: PlayedPorts, execution: RunExecution):
        self._ports, self._run = ports, execution.view.run

    async def rights(self) -> Any:
        if self._ports.rights_change:
            self._ports.rights_change -= 1
            return callers_rights.from_row(None, {"tools": "all", "max_tier": TIERS[self._ports.rights_change]})
        return callers_rights.from_row(None, {"tools": "all"})

    async def calls(self, turn: TurnView) -> list[RunCall]:
        return [call for call in self._ports.calls.values() if call.turn == turn.number]

    async def commit_turn(
        self,
        values: TurnValues,
        place: Place,
        evaluated: list[NewCall],
        queued: frozenset[uuid.UUID],
        known: Rights,
        seen: Taint | None = None,
    ) -> tuple[Run | None, list[RunCall]]:
        if await self.rights() != known:
            raise RightsChanged
        run = self._counted(values)
        return run, await self.propose(place, evaluated, queued, known) if run else []

    async def taint(self) -> Taint:
        return Taint()

    def _counted(self, values: TurnValues) -> Run | None:
        self._ports.done.append(("turn", values.text, values.calls))
        return None if self._ports.lost else replace(self._run, turns=self._run.turns + 1)

    async def commit_last_turn(self, turn: TurnView, values: TurnValues, end: RunEnd) -> Run | None:
        run = self._counted(values)
        return run and self._ended(run, end)

    async def finish(self, end: RunEnd) -> Run | None:
        return None if self._ports.lost else self._ended(self._run, end)

    def _ended(self, run: Run, end: RunEnd) -> Run:
        self._ports.end = end
        columns = rows.values(end)
        del columns["content"]
        return replace(run, **columns)

    async def suspend(self, turn: TurnView, notice: str) -> Run | None:
        self._ports.done.append("suspended")
        return replace(self._run, status="requires_action")

    async def propose(
        self, place: Place, evaluated: list[NewCall], queued: frozenset[uuid.UUID], known: Rights
    ) -> list[RunCall]:
        for call in evaluated:
            columns = rows.values(place) | rows.values(call)
            del columns["refusal"]
            state: dict[str, Any] = {"status": "queued" if call.id in queued else "proposed"}
            if call.approval_id:
                state = {"status": "awaiting_approval", "approval_status": "pending"}
            self._ports.calls[call.id] = RunCall(
                **columns | {"created_at": datetime.now(UTC), "row_key": b"key", **state}
            )
        return [self._ports.calls[call.id] for call in evaluated]

    async def use_rules(self, rule_ids: Iterable[str]) -> None:
        pass

    async def ask_humans(self, *args: Any, **more: Any) -> ApprovalEvents:
        return ApprovalEvents([])

    async def enqueue(self, call_ids: list[uuid.UUID]) -> list[uuid.UUID]:
        for call_id in call_ids:
            self._ports.change(call_id, status="queued")
        return call_ids

    async def resume(self, call: RunCall, known: Any) -> bool:
        self._ports.change(call.id, status="queued", approval_used_at=call.created_at)
        return True

    async def note(self, request_ids: list[uuid.UUID]) -> None:
        for call in list(self._ports.calls.values()):
            if call.approval_id in request_ids:
                self._ports.done.append(("noted", call.tool_name))
                self._ports.change(call.id, approval_used_at=call.created_at)

    async def withdraw(self, failure: Failure) -> ApprovalEvents:
        for call in list(self._ports.calls.values()):
            if not call.final:
                self._ports.change(call.id, status="error", error_code=failure.code, error_message=failure.message)
        return ApprovalEvents([])


def execution(ports: Any, *, seconds: float = 600, surface: str = "", **profile: Any) -> RunExecution:
    """A run that is about to be driven over these ports."""
    view = RunView(run_row(profile={**PROFILE, **profile}, surface=surface))
    scope = TenantScope(view.run.tenant_id, view.run.user_id)
    deadline = time.monotonic() + seconds
    return RunExecution(view, scope, [UserMessage("hello")], deadline, streams=True, ports=ports)
