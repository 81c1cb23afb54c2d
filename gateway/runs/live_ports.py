"""The world that runs are driven in: the rows, the workers, the providers."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager

from approvals import events
from approvals.events import ApprovalEvents
from approvals.requests import repository, resumption
from approvals.requests.unit_of_work import CallUnitOfWork
from audit.calls import recorder
from audit.calls.recorder import Failure, NewCall, Place
from audit.calls.rows import ToolCall
from audit.identifiers import uuid7
from gateway.providers.interface import Provider
from gateway.runs import loop
from gateway.runs import repository as records
from gateway.runs.execution import RunExecution
from gateway.runs.prompting import continuity
from gateway.runs.rows import Run, RunCall, RunEnd, TurnValues
from gateway.runs.view import TurnView
from gateway.runs.watching.wakeups import waits
from notifications import outbox
from services import prompting
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.gates import order
from tools.gates.interface import Gate, Rights
from tools.invocation import dispatch
from tools.invocation.dispatch import QueuedCall


class LiveUnitOfWork(CallUnitOfWork):
    """One transaction about a run; see `gateway.runs.execution.UnitOfWork`."""

    def __init__(self, execution: RunExecution, connection: Connection | None):
        super().__init__(connection, execution.scope.user_id, execution.view.run.profile)
        self._execution = execution
        self.notified: set[uuid.UUID] = set()

    def _new(self, published: records.Published | None) -> Run | None:
        """The run's new row."""
        if published is None:
            return None
        if published.notified:
            self.notified.add(self._execution.scope.tenant_id)
        return published.run

    async def calls(self, turn: TurnView) -> list[RunCall]:
        """Out of `tool_calls` and `approval_requests`."""
        return await records.calls_by_id(self.own, self._execution.scope, [call.id for call in turn.calls])

    async def commit_turn(
        self,
        values: TurnValues,
        place: Place,
        evaluated: list[NewCall],
        queued: frozenset[uuid.UUID],
        rights: Rights,
    ) -> tuple[Run | None, Sequence[ToolCall]]:
        """Under the driver's fence, with the calls' first ledger entries."""
        written, call_rows, entries = recorder.new_rows(place, evaluated, queued)
        run = self._execution.view.run
        return await records.commit_turn(self.own, run, values, rights, call_rows, entries), written

    async def commit_last_turn(self, turn: TurnView, values: TurnValues, end: RunEnd) -> Run | None:
        """Under the driver's fence; a stateless client finds the way back by it."""
        digest = None if end.incomplete_reason == "time" else continuity.way_back(self._execution, turn)
        return self._new(await records.commit_last_turn(self.own, self._execution.view.run, values, end, digest))

    async def finish(self, end: RunEnd) -> Run | None:
        """Under the driver's fence; a stateless client finds the way back to what was said so far."""
        run = self._new(await records.finish(self.connection, self._execution.view.run, end))
        if run is not None and self._execution.view.turns and end.status == "incomplete":
            await continuity.remember(self.connection, self._execution, self._execution.view.turns[-1])
        return run

    async def suspend(self, turn: TurnView, notice: str) -> Run | None:
        """Under the driver's fence; a stateless client finds the way back by the notice."""
        run = self._new(await records.suspend(self.connection, self._execution.view.run, turn.number))
        if run is not None:
            await continuity.remember(self.connection, self._execution, turn, notice)
        return run

    async def enqueue(self, call_ids: list[uuid.UUID]) -> list[uuid.UUID]:
        """Those that still wait for their turn."""
        return await recorder.enqueue(self.connection, call_ids)

    async def resume(self, call: RunCall, known: Rights) -> bool:
        """Through every gate once more."""
        return await resumption.resume(self.connection, call, known, self._execution.caller)

    async def note(self, request_ids: list[uuid.UUID]) -> None:
        """So that the sweeper does not ask for the run again."""
        await repository.note(self.connection, request_ids)

    async def withdraw(self, failure: Failure) -> ApprovalEvents:
        """With the ledger entries of the calls that end here."""
        withdrawn = await repository.withdraw(self.connection, self._execution.view.id)
        await recorder.withdraw(self.connection, self._execution.view.id, failure)
        return withdrawn


class LiveRunPorts:
    """See `gateway.runs.execution.RunPorts`; it has no state."""

    @asynccontextmanager
    async def step(self, execution: RunExecution, *, alone: bool = False) -> AsyncIterator[LiveUnitOfWork]:
        """Commits at the end, rolls back on any exception; notifications are sent after the commit."""
        if alone:
            unit = LiveUnitOfWork(execution, None)
            yield unit
        else:
            async with transaction(execution.scope) as connection:
                unit = LiveUnitOfWork(execution, connection)
                yield unit
        await outbox.ask(unit.notified)

    def watch(self, run_id: uuid.UUID) -> AbstractContextManager[asyncio.Event]:
        """Woken by hints, and by looking every 2 s."""
        return waits().for_run(run_id)

    async def service_context(self, execution: RunExecution, offered: Sequence[str]) -> str:
        """Guidance, and feeds that are asked for when their time is over."""
        assert execution.known is not None
        return await prompting.text(execution.scope, execution.known.policy, offered)

    def provider(self, model: str) -> tuple[Provider, str]:
        """This process's adapter."""
        return loop.providers().resolve(model)

    def gates(self) -> Iterable[Gate]:
        """All of them, in order."""
        return order.new_call()

    def new_id(self) -> uuid.UUID:
        """A UUIDv7."""
        return uuid7()

    async def dispatch(self, calls: Sequence[QueuedCall]) -> None:
        """Over Celery."""
        await dispatch.dispatch(calls)

    async def request_takeover(self, scope: TenantScope, run_id: uuid.UUID) -> None:
        """Over Celery."""
        await dispatch.request_takeover(*scope, run_id)

    async def publish(self, changed: ApprovalEvents) -> None:
        """To live queues and notification targets."""
        await events.publish(changed)


LIVE_PORTS = LiveRunPorts()
