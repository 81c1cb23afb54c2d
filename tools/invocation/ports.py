"""What invocation needs of the packages above it, which import this one: they hand it in when their apps are ready.

`approvals` knows rules, and asks humans; `gateway` wakes who waits for a call, and knows whether a run is open;
`notifications` sends messages and reminds; `services` knows tenants' own tools.
Nothing is called without them.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from audit.calls.proposing import NewCall, Place
from audit.calls.rows import ToolCall
from tenants.scope.transactions import Connection, TenantScope
from tools import handles
from tools.gates.interface import Rights
from tools.gates.policy import Policy
from tools.handles import CallersTools, Messages, Reminders, Schedules
from tools.interface import Tool
from tools.questions import Answer, InputRequired
from tools.stores import Meaning


class UnitOfWork(Protocol):
    """One transaction of a user, in which calls are recorded."""

    async def rights(self) -> Rights:
        """The user's rights as they are now."""
        ...

    async def use_rules(self, rule_ids: Iterable[str]) -> None:
        """Count the uses of rules that let calls through; raises RulesExhausted."""
        ...

    async def ask_humans(
        self, place: Place, held: Sequence[NewCall], policy: Policy, *, agent: str, context: list[dict[str, Any]]
    ) -> Any:
        """Write the requests that held calls wait for; what `publish` takes after the commit."""
        ...


class ConnectedUnitOfWork(UnitOfWork, Protocol):
    """One that shares its transaction."""

    @property
    def own(self) -> Connection | None:
        """As `connection`; None for a single statement, which is a transaction by itself."""
        ...

    @property
    def connection(self) -> Connection:
        """The transaction's connection."""
        ...


class Approvals(Protocol):
    """What `approvals` does for a call without a run."""

    def step(self, scope: TenantScope, alone: bool) -> AbstractAsyncContextManager[ConnectedUnitOfWork]:
        """A transaction of a user who calls by themselves, without an agent; see `proposal.Proposal` for `alone`."""
        ...

    def remembered(self, scope: TenantScope) -> Rights | None:
        """The rights of a user who calls by themselves, as they were read last, if they were: whoever records calls by
        them finds out whether they still hold."""
        ...

    async def withdraw(self, connection: Connection, request_id: uuid.UUID) -> Any:
        """Cancel the request of a call without a run, in the caller's transaction; what `publish` takes after the
        commit."""
        ...

    async def publish(self, events: Any) -> None:
        """Tell whoever watches approval requests, after the commit."""
        ...


class Services(Protocol):
    """What `services` knows of a tenant's own tools."""

    async def tool(self, connection: Connection, name: str) -> Tool | None:
        """The tool of a service by its full name, ready to be executed; None when the tenant has no such tool."""
        ...

    async def tool_in(self, scope: TenantScope, name: str) -> Tool | None:
        """The same, in a transaction of its own."""
        ...


class AfterCommit(Protocol):
    """A handle that has something to do once its call's transaction is committed."""

    async def committed(self) -> None:
        """Never raises; does nothing where the call has done nothing by it."""
        ...


class MessagesOfCall(Messages, AfterCommit, Protocol):
    """The handle `messages` of one call."""


class Notifications(Protocol):
    """What `notifications` offers to tools, in the transaction of one call."""

    def messages(self, connection: Connection, call: ToolCall) -> MessagesOfCall:
        """Messages in the name of the call's user."""
        ...

    def reminders(self, connection: Connection, call: ToolCall) -> Reminders:
        """Reminders of the call's user."""
        ...


@dataclass(frozen=True, slots=True)
class Answered:
    """What a call's user has answered to what it asked last, by the questions' keys, and what its tool had left."""

    answers: Mapping[str, Answer]
    state: Any


class Questions(Protocol):
    """What `approvals` does for a call that asks its own user."""

    async def ask(self, call: ToolCall, binding: str, required: InputRequired) -> None:
        """Park a call that a worker runs, and write what it asks; end it where nobody can be asked. Without effect when
        the claim was lost. `binding` is its tool's."""
        ...

    async def answered(self, scope: TenantScope, call_id: uuid.UUID) -> Answered | None:
        """The answers that the call goes on with; None for one that has asked nothing."""
        ...

    async def withdraw(self, connection: Connection, call_id: uuid.UUID) -> None:
        """Cancel what a call asks, in the caller's transaction."""
        ...


class Children(Protocol):
    """What `gateway` does for calls that begin a run."""

    def of_call(self, connection: Connection, call: ToolCall) -> handles.Children:
        """The handle of a call that a run makes, in the call's own transaction."""
        ...

    def begin(self, scope: TenantScope, call_id: uuid.UUID, *, again: bool) -> None:
        """Execute a queued call in this process, without waiting for it, and drive the run that it begins; `again`:
        nobody knows whether it ended a process before."""
        ...

    def sessions(self, connection: Connection, call: ToolCall) -> handles.Sessions:
        """The handle of any call, in its own transaction."""
        ...


class Meanings(Protocol):
    """What `gateway` does for searches by meaning."""

    def configured(self) -> bool:
        """Whether the operator has named a model for that."""
        ...

    async def of(self, scope: TenantScope, words: str) -> Meaning | None:
        """The vector of some words, soon; None where it is refused, does not come in time, or nothing can be compared
        with it. Never raises."""
        ...


# An event that is set whenever the call of this id may have changed.
Watch = Callable[[uuid.UUID], AbstractContextManager[asyncio.Event]]

# Whether a run is not over, and stays so until the transaction ends.
IsOpen = Callable[[Connection, uuid.UUID], Awaitable[bool]]
# The tools that a call's user may use: of its run's agent, or without a run the user's own.
FindTools = Callable[[TenantScope, uuid.UUID | None], CallersTools]
# The schedules of a call's user, in the call's transaction.
FindSchedules = Callable[[Connection, ToolCall], Schedules]

_approvals: Approvals | None = None
_questions: Questions | None = None
_is_open: IsOpen | None = None
_watch: Watch | None = None
_services: Services | None = None
_tools: FindTools | None = None
_children: Children | None = None
_schedules: FindSchedules | None = None
_notifications: Notifications | None = None
_meanings: Meanings | None = None


def connect(
    *,
    approvals: Approvals | None = None,
    questions: Questions | None = None,
    watch: Watch | None = None,
    is_open: IsOpen | None = None,
    services: Services | None = None,
    tools: FindTools | None = None,
    children: Children | None = None,
    schedules: FindSchedules | None = None,
    notifications: Notifications | None = None,
    meanings: Meanings | None = None,
) -> None:
    """Hand in what a package above offers."""
    global _approvals, _questions, _watch, _is_open, _services, _tools, _children, _schedules, _notifications
    global _meanings
    _approvals, _questions, _services = approvals or _approvals, questions or _questions, services or _services
    _watch, _is_open, _tools = watch or _watch, is_open or _is_open, tools or _tools
    _children, _schedules = children or _children, schedules or _schedules
    _notifications, _meanings = notifications or _notifications, meanings or _meanings


def approvals() -> Approvals:
    """What was handed in."""
    assert _approvals is not None, "approvals.apps hands this in when Django is set up"
    return _approvals


def questions() -> Questions:
    """What was handed in."""
    assert _questions is not None, "approvals.apps hands this in when Django is set up"
    return _questions


async def is_open(connection: Connection, run_id: uuid.UUID) -> bool:
    """What was handed in, for one run."""
    assert _is_open is not None, "gateway.apps hands this in when Django is set up"
    return await _is_open(connection, run_id)


def services() -> Services:
    """What was handed in."""
    assert _services is not None, "services.apps hands this in when Django is set up"
    return _services


def children() -> Children:
    """What was handed in."""
    assert _children is not None, "gateway.apps hands this in when Django is set up"
    return _children


def notifications() -> Notifications:
    """What was handed in."""
    assert _notifications is not None, "notifications.apps hands this in when Django is set up"
    return _notifications


def meanings() -> Meanings:
    """What was handed in."""
    assert _meanings is not None, "gateway.apps hands this in when Django is set up"
    return _meanings


def callers_tools(scope: TenantScope, run_id: uuid.UUID | None) -> CallersTools:
    """What was handed in, for one call."""
    assert _tools is not None, "gateway.apps hands this in when Django is set up"
    return _tools(scope, run_id)


def schedules(connection: Connection, call: ToolCall) -> Schedules:
    """What was handed in, for one call."""
    assert _schedules is not None, "gateway.apps hands this in when Django is set up"
    return _schedules(connection, call)


def watch(call_id: uuid.UUID) -> AbstractContextManager[asyncio.Event]:
    """What was handed in, for one call."""
    assert _watch is not None, "gateway.apps hands this in when Django is set up"
    return _watch(call_id)
