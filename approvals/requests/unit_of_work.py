"""One transaction in which calls are recorded, with what rules and humans have to do with them.

See `tools.invocation.ports`: a turn's calls and a call without a chat are recorded by it alike.
"""

import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from approvals import events
from approvals.events import ApprovalEvents
from approvals.requests import callers_rights, repository
from approvals.requests.callers_rights import NO_AGENT
from approvals.rules import evaluation
from audit.calls.proposing import NewCall, Place
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.gates.interface import Rights
from tools.gates.policy import Policy


class CallUnitOfWork:
    """See `tools.invocation.ports.UnitOfWork`; `agent` is the profile (`tools`, `max_tier`) that limits the user.

    Without a connection it is good for one statement, which is a transaction by itself.
    """

    def __init__(self, connection: Connection | None, user_id: uuid.UUID, agent: Mapping[str, Any] = NO_AGENT):
        self.own = connection
        self._user_id = user_id
        self._agent = agent

    @property
    def connection(self) -> Connection:
        """The transaction's connection."""
        assert self.own is not None, "a single statement that is a transaction by itself was promised"
        return self.own

    async def rights(self) -> Rights:
        """As memberships, settings, grants and rules say."""
        if self._agent is NO_AGENT:
            return await callers_rights.own(self.connection, self._user_id)
        return await callers_rights.load(self.connection, self._user_id, self._agent)

    async def use_rules(self, rule_ids: Iterable[str]) -> None:
        """In the commit that lets the calls through."""
        await evaluation.use(self.connection, rule_ids)

    async def ask_humans(
        self, place: Place, held: Sequence[NewCall], policy: Policy, *, agent: str, context: list[dict[str, Any]]
    ) -> ApprovalEvents:
        """In the commit that writes the held calls."""
        return await repository.open(self.connection, place, held, policy, agent=agent, context=context)


class CallPorts:
    """See `tools.invocation.ports.Approvals`."""

    @asynccontextmanager
    async def step(self, scope: TenantScope, alone: bool) -> AsyncIterator[CallUnitOfWork]:
        """Commits at the end, rolls back on any exception."""
        if alone:
            yield CallUnitOfWork(None, scope.user_id)
        else:
            async with transaction(scope) as connection:
                yield CallUnitOfWork(connection, scope.user_id)

    def remembered(self, scope: TenantScope) -> Rights | None:
        """Of `approvals.requests.callers_rights`."""
        return callers_rights.remembered(scope)

    async def withdraw(self, connection: Connection, request_id: uuid.UUID) -> ApprovalEvents:
        """In the commit that ends the call."""
        return await repository.withdraw_alone(connection, request_id)

    async def publish(self, asked: ApprovalEvents) -> None:
        """To sockets, mails and webhooks."""
        await events.publish(asked)
