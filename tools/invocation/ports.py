"""What invocation needs of the packages above it, which import this one: they hand it in when their apps are ready.

`approvals` knows rules, and asks humans; `gateway` wakes who waits for a call; `services` knows tenants' own tools.
Nothing is called without them.
"""

import asyncio
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Protocol

from audit.calls.recorder import NewCall, Place
from audit.calls.rows import ToolCall
from tenants.scope.transactions import Connection, TenantScope
from tools.gates.interface import Rights
from tools.gates.policy import Policy
from tools.interface import Tool


class UnitOfWork(Protocol):
    """One transaction of a user, in which calls are recorded."""

    async def rights(self) -> Rights:
        """The user's rights as they are now."""
        ...

    async def propose(
        self, place: Place, evaluated: list[NewCall], queued: frozenset[uuid.UUID], rights: Rights
    ) -> Sequence[ToolCall]:
        """Write calls with their first ledger entries; the calls as they are then. Raises RightsChanged."""
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
    def connection(self) -> Connection:
        """The transaction's connection."""
        ...


class Approvals(Protocol):
    """What `approvals` does for a call without a run."""

    def step(self, scope: TenantScope, alone: bool) -> AbstractAsyncContextManager[ConnectedUnitOfWork]:
        """A transaction of a user who calls by themselves, without an agent; see `proposal.Proposal` for `alone`."""
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


# An event that is set whenever the call of this id may have changed.
Watch = Callable[[uuid.UUID], AbstractContextManager[asyncio.Event]]

_approvals: Approvals | None = None
_watch: Watch | None = None
_services: Services | None = None


def connect(
    *, approvals: Approvals | None = None, watch: Watch | None = None, services: Services | None = None
) -> None:
    """Hand in what a package above offers."""
    global _approvals, _watch, _services
    _approvals, _watch, _services = approvals or _approvals, watch or _watch, services or _services


def approvals() -> Approvals:
    """What was handed in."""
    assert _approvals is not None, "approvals.apps hands this in when Django is set up"
    return _approvals


def services() -> Services:
    """What was handed in."""
    assert _services is not None, "services.apps hands this in when Django is set up"
    return _services


def watch(call_id: uuid.UUID) -> AbstractContextManager[asyncio.Event]:
    """What was handed in, for one call."""
    assert _watch is not None, "gateway.apps hands this in when Django is set up"
    return _watch(call_id)
