"""A run in the hands of the process that drives it, and all that its loop does outside of itself.

The loop decides; what it reads, writes, sends and waits for goes through `RunPorts`. Those of `gateway.runs.live_ports`
are the database, the workers and the providers; those of `gateway.runs.replay.ports` are the record of a run that is
over, so that a replay drives the same loop.
"""

import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

from approvals.events import ApprovalEvents
from audit.calls.proposing import NewCall, Place
from audit.calls.recorder import Failure
from audit.calls.rows import ToolCall
from gateway.budgets.prices import Price
from gateway.providers.interface import ClientTool, Options, PromptMessage, Provider, UserMessage
from gateway.providers.routing.resolution import ResolvedModel, Routing
from gateway.runs.rows import Run, RunCall, RunEnd, TurnValues
from gateway.runs.view import RunView, TurnView
from tenants.scope.transactions import TenantScope
from tools.gates.interface import Caller, Gate, Rights, Taint
from tools.gates.policy import Policy
from tools.invocation import ports
from tools.invocation.dispatch import QueuedCall
from tools.invocation.live.wakeups import WakeUp
from tools.offering.offer import Offer, of_agent


class RunLost(Exception):
    """Somebody else drives or ended the run: whatever we know of it is old."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client of a compatible API brings along: tools of its own, and how it wants to be answered."""

    client_tools: tuple[ClientTool, ...] = ()
    options: Options = field(default_factory=Options)

    @property
    def client_names(self) -> frozenset[str]:
        """The names of the client's own tools."""
        return frozenset(tool.name for tool in self.client_tools)

    def options_of(self, turn: int) -> Options:
        """How a turn is to be answered: a call that the client demands is demanded of the first turn only."""
        choice = self.options.tool_choice
        if turn > 1 and choice is not None and choice.kind in ("required", "tool"):
            return replace(self.options, tool_choice=None)
        return self.options


class UnitOfWork(ports.UnitOfWork, Protocol):
    """What the loop reads and writes of its run within one transaction, beside what every call needs.

    None for a run that is not ours any more.
    """

    async def calls(self, turn: TurnView) -> list[RunCall]:
        """The turn's calls as they are now, each with the state of its approval request."""
        ...

    async def commit_turn(
        self,
        values: TurnValues,
        place: Place,
        evaluated: list[NewCall],
        queued: frozenset[uuid.UUID],
        rights: Rights,
        seen: Taint | None = None,
    ) -> tuple[Run | None, Sequence[ToolCall]]:
        """Write an answered turn with its calls; the run's new row, and the calls as they are then. Raises
        RightsChanged, also when the session has read more than what was `seen` of it, where that mattered."""
        ...

    async def taint(self) -> Taint:
        """What the run's session has read, and what its user has said in their own words."""
        ...

    async def commit_last_turn(self, turn: TurnView, values: TurnValues, end: RunEnd) -> Run | None:
        """Write an answered turn and the run's end; the run's new row."""
        ...

    async def finish(self, end: RunEnd) -> Run | None:
        """Write the run's end; its new row."""
        ...

    async def suspend(self, turn: TurnView, notice: str) -> Run | None:
        """Let the run wait for humans, its client being told `notice`; the run's new row."""
        ...

    async def enqueue(self, call_ids: list[uuid.UUID]) -> list[uuid.UUID]:
        """Queue proposed calls; the ids of those that were."""
        ...

    async def resume(self, call: RunCall, known: Rights) -> bool:
        """Queue a call that was approved, or refuse it where a gate does now: False."""
        ...

    async def go_on(self, call: RunCall, known: Rights) -> bool:
        """Queue a call whose user has answered, or refuse it where a gate does now: False."""
        ...

    async def note(self, request_ids: list[uuid.UUID]) -> None:
        """Take note of requests that were not approved."""
        ...

    async def withdraw(self, failure: Failure) -> ApprovalEvents:
        """End the run's requests and questions, and the calls that nobody has."""
        ...


class RunPorts(Protocol):
    """All that a run's loop does outside of itself."""

    def step(self, execution: "RunExecution", *, alone: bool = False) -> AbstractAsyncContextManager[UnitOfWork]:
        """A transaction about the run, restricted to its user.

        `alone`: one of `calls`, `commit_turn` and `commit_last_turn` comes and nothing else. Each is a statement that
        is a transaction by itself.
        """
        ...

    def watch(self, run_id: uuid.UUID) -> AbstractContextManager[WakeUp]:
        """An event that is set whenever the run's calls may have changed."""
        ...

    async def service_context(self, execution: "RunExecution", offered: Sequence[str]) -> str:
        """What the services of the tools that are offered, by name, put into the prompt."""
        ...

    async def route(self, execution: "RunExecution") -> Sequence[ResolvedModel]:
        """The models that are asked for the run's next turn, each where those before it fail. Raises UnknownModel and
        ModelNotAllowed for the run's own."""
        ...

    async def still_ours(self, execution: "RunExecution") -> bool:
        """Whether the run is in progress, and nobody else's."""
        ...

    def within_budgets(
        self, execution: "RunExecution", provider: Provider, turn: int, model: str, price: Price | None
    ) -> Provider:
        """The provider, asking the run's budgets first; see `gateway.runs.turns.reserving`."""
        ...

    def gates(self) -> Iterable[Gate]:
        """What a turn's calls pass; iterated over once for each call, in order."""
        ...

    def new_id(self) -> uuid.UUID:
        """The id of a new call or request."""
        ...

    async def dispatch(self, calls: Sequence[QueuedCall]) -> None:
        """Send queued calls to the workers."""
        ...

    def take_over_again(self, execution: "RunExecution") -> None:
        """Have the run that was just parked taken over, without waiting for it."""
        ...

    async def publish(self, changed: ApprovalEvents) -> None:
        """Let whoever watches approval requests know, after the commit."""
        ...


@dataclass(slots=True)
class RunExecution:
    """A run in our hands: what is shown to the model before this run's own turns, and when its time is over.

    `asked` is what a client of a compatible API wants beside the messages, and `transcript` those as it sent them.
    `streams`: somebody wants the text as it
    comes. `known` are the user's rights as of the last look at them, `routing` its tenant's providers and models.
    `told`: somebody may know of the run before it ends or waits; until then a crash of the database may lose it.
    `woken` is set when the run's calls may have changed; `sent`: calls were sent and not looked at since.
    """

    view: RunView
    scope: TenantScope
    shown: list[PromptMessage]
    deadline: float
    streams: bool
    ports: RunPorts
    asked: Asked = field(default_factory=Asked)
    transcript: tuple[PromptMessage, ...] = ()
    known: Rights | None = None
    routing: Routing | None = None
    told: bool = True
    wake_up: WakeUp = field(default_factory=WakeUp)
    sent: bool = False
    _offered: tuple[Policy, frozenset[str], Offer] | None = None

    def offered(self, demanded: frozenset[str]) -> Offer:
        """What the model is offered by the rights that are known, worked out once for the same ones; `demanded` are the
        tools that it is told to call."""
        assert self.known is not None
        policy = self.known.policy
        if self._offered is None or self._offered[0] is not policy or self._offered[1] != demanded:
            self._offered = policy, demanded, of_agent(policy, self.view.run.profile, demanded=demanded)
        return self._offered[2]

    @property
    def model(self) -> str:
        """The model that answered last, as "provider/model"; before the first answer the one that is asked for."""
        last = self.view.last
        return (last.model if last is not None else "") or self.view.run.model

    @property
    def caller(self) -> Caller:
        """Who calls the run's tools; what the session has read is not known yet."""
        profile = self.view.run.profile
        origin = profile.get("origin", "chat")
        return Caller(*self.scope, agent=profile.get("slug", ""), origin=origin, model=self.model, taint=None)

    @property
    def own_words(self) -> tuple[str, ...]:
        """What the user has said in the conversation, as far as the model is shown it; nothing where another run gave
        it its task."""
        if self.view.run.parent_run_id is not None:
            return ()
        return tuple(message.text for message in self.shown if isinstance(message, UserMessage) and message.by_person)

    @property
    def seconds_left(self) -> float:
        """Of the run's time budget."""
        return self.deadline - time.monotonic()


def advance(view: RunView, run: Run | None) -> None:
    """Go on with the run's new row; raises RunLost without one."""
    if run is None:
        raise RunLost
    view.run = run
    view.changed()
