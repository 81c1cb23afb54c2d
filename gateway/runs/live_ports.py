"""The world that runs are driven in: the rows, the workers, the providers."""

import uuid
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import TracebackType

from approvals import events
from approvals.events import ApprovalEvents
from approvals.questions import resumption as answers
from approvals.requests import repository, resumption
from approvals.requests.unit_of_work import CallUnitOfWork
from audit.calls import proposing, recorder, taint
from audit.calls.proposing import NewCall, Place
from audit.calls.recorder import Failure
from audit.calls.rows import ToolCall
from audit.identifiers import uuid7
from gateway.budgets.prices import Price
from gateway.providers.interface import Provider
from gateway.providers.routing import resolution
from gateway.providers.routing.resolution import ResolvedModel
from gateway.runs import loop, reading
from gateway.runs import repository as records
from gateway.runs.children import below, cancelling, ending, waking
from gateway.runs.children.cancelling import Cancelled
from gateway.runs.execution import RunExecution
from gateway.runs.prompting import continuity
from gateway.runs.rows import Run, RunCall, RunEnd, TurnValues
from gateway.runs.turns import asking, reserving
from gateway.runs.view import TurnView, pending
from gateway.runs.view import asking as asking_user
from gateway.runs.watching.wakeups import waits
from notifications import outbox
from notifications.inbox import live
from services.prompts import prompting
from tenants.scope.transactions import Connection, transaction
from tools.gates import order
from tools.gates.interface import Caller, Gate, Rights, Taint, TaintSource
from tools.invocation import dispatch, evaluation
from tools.invocation.dispatch import QueuedCall
from tools.invocation.evaluation import Suggestion
from tools.invocation.live.wakeups import WakeUp
from tools.labels import TAINTS, UNTRUSTED


class LiveUnitOfWork(CallUnitOfWork):
    """One transaction about a run; see `gateway.runs.execution.UnitOfWork`."""

    def __init__(self, execution: RunExecution, connection: Connection | None):
        super().__init__(connection, execution.scope.user_id, execution.view.run.profile)
        self._execution = execution
        self.notified: set[uuid.UUID] = set()
        # What is told after the commit: runs above that wait for humans, and the one whose call has ended.
        self.waiting_above: list[uuid.UUID] = []
        self.ended_call_of: uuid.UUID | None = None
        self.cancelled: Cancelled | None = None
        # Whether its end is told in the user's inbox.
        self.entered = False

    def _new(self, published: records.Published | None) -> Run | None:
        """The run's new row."""
        if published is None:
            return None
        if published.notified:
            self.notified.add(self._execution.scope.tenant_id)
        run = published.run
        self.entered = run.status in ("failed", "incomplete") and run.profile.get("origin") == "schedule"
        return run

    async def calls(self, turn: TurnView) -> list[RunCall]:
        """Out of `tool_calls` and `approval_requests`."""
        return await reading.calls_by_id(self.own, self._execution.scope, [call.id for call in turn.calls])

    async def commit_turn(
        self,
        values: TurnValues,
        place: Place,
        evaluated: list[NewCall],
        queued: frozenset[uuid.UUID],
        rights: Rights,
        seen: Taint | None = None,
    ) -> tuple[Run | None, Sequence[ToolCall]]:
        """Under the driver's fence, with the calls' first ledger entries."""
        written, call_rows, entries = proposing.new_rows(place, evaluated, queued)
        run, told = self._execution.view.run, self._execution.told
        taint = None if seen is None else seen.labels
        return await records.commit_turn(self.own, run, values, rights, call_rows, entries, taint, told), written

    async def taint(self) -> Taint:
        """By the rows of its conversation, and the messages that the model is shown."""
        found = await taint.of(self.connection, self._execution.view.run.conversation_id)
        sources = tuple(TaintSource(**each) for each in found)
        # What a tainted schedule asks stands among the user's messages, and strangers' words may have written it.
        own = not any((each.source, each.label) == (taint.SCHEDULE, UNTRUSTED) for each in sources)
        return Taint(sources, self._execution.own_words if own else ())

    async def _caller(self, call: RunCall, known: Rights) -> Caller:
        """Who calls, with what the session has read where that matters."""
        caller = self._execution.caller
        if not evaluation.goes_by_taint(known.policy, Suggestion(call.tool_name, "")):
            return caller
        return replace(caller, taint=await self.taint())

    async def commit_last_turn(self, turn: TurnView, values: TurnValues, end: RunEnd) -> Run | None:
        """Under the driver's fence; a stateless client finds the way back by it."""
        digest = None if end.incomplete_reason == "time" else continuity.way_back(self._execution, turn)
        run = self._new(await records.commit_last_turn(self.own, self._execution.view.run, values, end, digest))
        return await self._settled(run, end)

    async def _settled(self, run: Run | None, end: RunEnd) -> Run | None:
        """The run's new row, the call that waited for it being ended."""
        if (
            run is not None
            and run.parent_call_id is not None
            and await ending.settle(self.connection, run, end.content)
        ):
            self.ended_call_of = run.parent_run_id
        return run

    async def finish(self, end: RunEnd) -> Run | None:
        """Under the driver's fence; a stateless client finds the way back to what was said so far."""
        run = self._new(await records.finish(self.connection, self._execution.view.run, end))
        if run is not None and self._execution.view.turns and end.status == "incomplete":
            await continuity.remember(self.connection, self._execution, self._execution.view.turns[-1])
        return await self._settled(run, end)

    async def suspend(self, turn: TurnView, notice: str) -> Run | None:
        """Under the driver's fence; a stateless client finds the way back by the notice. Where people are waited for,
        so they are by every run above."""
        # Decisions and answers say by themselves that the run may go on; the end of a child shows in this number.
        waits_for_child = any(call.waits_for_child for call in turn.calls)
        open_calls = sum(not call.final for call in turn.calls) if waits_for_child else None
        for_humans = bool(pending(turn) or asking_user(turn))
        parked = await records.suspend(
            self.connection, self._execution.view.run, turn.number, open_calls, for_humans=for_humans
        )
        run = self._new(parked)
        if run is not None and for_humans:
            await continuity.remember(self.connection, self._execution, turn, notice)
            self.waiting_above = await below.ancestors_wait(self.connection, run)
        return run

    async def enqueue(self, call_ids: list[uuid.UUID]) -> list[uuid.UUID]:
        """Those that still wait for their turn."""
        return await recorder.enqueue(self.connection, call_ids)

    async def resume(self, call: RunCall, known: Rights) -> bool:
        """Through every gate once more."""
        return await resumption.resume(self.connection, call, known, await self._caller(call, known))

    async def go_on(self, call: RunCall, known: Rights) -> bool:
        """Through every gate once more."""
        return await answers.resume(self.connection, call, known, await self._caller(call, known))

    async def note(self, request_ids: list[uuid.UUID]) -> None:
        """So that the sweeper does not ask for the run again."""
        await repository.note(self.connection, request_ids)

    async def withdraw(self, failure: Failure) -> ApprovalEvents:
        """With the ledger entries of the calls that end here."""
        view = self._execution.view
        open_calls = (call for turn in view.turns for call in turn.calls if not call.final)
        if any(dispatch.begins_run(call.tool_name) for call in open_calls):
            self.cancelled = await cancelling.tree(
                self.connection, self._execution.scope, view.id, failure, spared=True
            )
        return await cancelling.withdraw(self.connection, view.id, failure)

    async def tell(self) -> None:
        """Let everybody know what was written, after the commit."""
        scope = self._execution.scope
        if self.notified:
            await outbox.ask(self.notified)
        if self.waiting_above:
            await waking.changed(self.waiting_above)
        if self.ended_call_of is not None:
            await waking.call_ended(scope, self.ended_call_of)
        if self.cancelled is not None:
            await waking.cancelled(scope, self.cancelled)
        if self.entered:
            await live.announce(*scope)


class _Step:
    """See `LiveRunPorts.step`; a class, since a generator's context costs more than the step itself."""

    def __init__(self, execution: RunExecution, alone: bool):
        self._execution = execution
        # The end of a child is more than a statement.
        alone = alone and execution.view.run.parent_call_id is None
        self._transaction = None if alone else transaction(execution.scope)

    async def __aenter__(self) -> LiveUnitOfWork:
        connection = None if self._transaction is None else await self._transaction.__aenter__()
        self._unit = LiveUnitOfWork(self._execution, connection)
        return self._unit

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._transaction is not None:
            await self._transaction.__aexit__(kind, error, traceback)
        if error is None:
            await self._unit.tell()


class LiveRunPorts:
    """See `gateway.runs.execution.RunPorts`; it has no state."""

    def step(self, execution: RunExecution, *, alone: bool = False) -> _Step:
        """Commits at the end, rolls back on any exception; notifications are sent after the commit."""
        return _Step(execution, alone)

    def watch(self, run_id: uuid.UUID) -> AbstractContextManager[WakeUp]:
        """Woken by other processes, and by looking every 2 s."""
        return waits().for_run(run_id)

    async def service_context(self, execution: RunExecution, offered: Sequence[str]) -> str:
        """Guidance, and feeds that are asked for when their time is over; the conversation has read those then."""
        assert execution.known is not None
        policy, run = execution.known.policy, execution.view.run
        for service in prompting.concerning(policy, offered):
            if service.feeds:
                await taint.add(
                    None,
                    execution.scope,
                    conversation_id=run.conversation_id,
                    run_id=run.id,
                    labels=TAINTS,
                    source=service.source,
                )
        return await prompting.text(execution.scope, policy, offered)

    async def route(self, execution: RunExecution) -> Sequence[ResolvedModel]:
        """By what the tenant says of providers and models under the rights that are known, without those that a kill
        switch stops."""
        known, routing, view = execution.known, execution.routing, execution.view
        assert known is not None
        if routing is None or routing.version != known.version:
            routing = execution.routing = await resolution.routing(execution.scope)
        answered = view.turns[: view.run.turns]
        found = routing.route(view.run.model, loop.providers(), first=answered[-1].model if answered else "")
        return asking.not_killed(found, known.policy.switches, execution.scope.user_id, execution.caller.agent)

    async def still_ours(self, execution: RunExecution) -> bool:
        """By the run's row, under the driver's fence."""
        async with transaction(execution.scope) as connection:
            return await records.is_held(connection, execution.view.run)

    def within_budgets(
        self, execution: RunExecution, provider: Provider, turn: int, model: str, price: Price | None
    ) -> Provider:
        """Those of the tenant, if it has any."""
        return reserving.within_budgets(execution, provider, turn, model, price)

    def gates(self) -> Iterable[Gate]:
        """All of them, in order."""
        return order.new_call()

    def new_id(self) -> uuid.UUID:
        """A UUIDv7."""
        return uuid7()

    async def dispatch(self, calls: Sequence[QueuedCall]) -> None:
        """Over Celery."""
        await dispatch.dispatch(calls)

    def take_over_again(self, execution: RunExecution) -> None:
        """In this process."""
        waking.drive(execution.scope, execution.view.id)

    async def publish(self, changed: ApprovalEvents) -> None:
        """To live queues and notification targets."""
        await events.publish(changed)


LIVE_PORTS = LiveRunPorts()
