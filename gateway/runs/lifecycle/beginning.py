"""Begins runs: for a client's request, and for a call that begins a child.

A run and its lease are written in one transaction, and driven in this process from then on.
"""

import uuid
from collections.abc import Awaitable, Callable

import psycopg

from audit.calls.rows import ToolCall
from gateway.runs import preparation, reading
from gateway.runs.children.starting import ChildrenOfCall
from gateway.runs.conversations.sessions import SessionsOfCall
from gateway.runs.errors import ConversationBusy, IdempotencyMismatch
from gateway.runs.lifecycle import driving, following
from gateway.runs.preparation import ChatRequest
from gateway.runs.view import RunView
from tenants.errors import Refused
from tenants.people.principal import Principal
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.gates.interface import RightsChanged
from tools.invocation.in_worker import execution as invocation
from tools.invocation.once import idempotency


async def begin(
    principal: Principal, request: ChatRequest, anew: Callable[[], Awaitable[Principal]] | None = None
) -> RunView:
    """Write the user's message and the run, and start driving it; the run of an earlier request with the same key is
    that run.

    `anew` authenticates again, for a principal that was remembered: nothing is begun, answered or refused by one who
    has changed. Raises NoSuchConversation, NoSuchAgent, NoSuchModel, ConversationBusy, IdempotencyMismatch,
    BudgetExhausted, ModelUnpriced.
    """
    try:
        return await _begin(principal, request)
    except (RightsChanged, Refused):
        if principal.version is None or anew is None:
            raise
    return await _begin(await anew(), request)


async def _begin(principal: Principal, request: ChatRequest) -> RunView:
    scope = TenantScope(principal.tenant_id, principal.user_id)
    try:
        execution = await preparation.open(scope, request, principal.version, principal.key_id)
    except psycopg.errors.UniqueViolation as taken:
        return await _earlier(scope, request, taken)
    driving.start(execution)
    return execution.view


async def _earlier(scope: TenantScope, request: ChatRequest, taken: psycopg.errors.UniqueViolation) -> RunView:
    """The run that took the idempotency key, if that is what was taken."""
    if request.idempotency_key is not None:
        async with transaction(scope) as connection:
            run = await reading.run_by_key(connection, scope, request.idempotency_key)
        if run is not None:
            if run.request_hash != request.request_hash:
                raise IdempotencyMismatch
            return await following.look(scope, run.id)
    if taken.diag.constraint_name == "runs_one_open":
        raise ConversationBusy
    if taken.diag.constraint_name == idempotency.CONSTRAINT:
        # It began a call without a chat.
        raise IdempotencyMismatch
    raise taken


class ChildrenOfRuns:
    """See `tools.invocation.ports.Children`."""

    def of_call(self, connection: Connection, call: ToolCall) -> ChildrenOfCall:
        """Good for one child."""
        return ChildrenOfCall(connection, call)

    def sessions(self, connection: Connection, call: ToolCall) -> SessionsOfCall:
        """Good for one call."""
        return SessionsOfCall(connection, call)

    def begin(self, scope: TenantScope, call_id: uuid.UUID, *, again: bool) -> None:
        """What fails here is left to the sweeper, like a call that no worker takes and a run that nobody drives."""
        driving.in_background(_begin_child(scope, call_id, again))


async def _begin_child(scope: TenantScope, call_id: uuid.UUID, again: bool) -> None:
    child_id = await invocation.execute(*scope, call_id, claims=again)
    if child_id is not None:
        await driving.take_over(scope, child_id)
