"""The transitions of a call that a worker begins; `recorder` draws them all.

The sources and the fence of a compare-and-set come from the call's row, as its holder has it: no call is settled or
given back under a fence that is not the holder's.
"""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from audit.calls.recorder import COLUMNS, Outcome, scope_of, settle_function, settlement
from audit.calls.rows import ToolCall
from audit.models import Status
from tenants.scope import rows
from tenants.scope.exchange import BEGIN, COMMIT, PooledConnection, exchange
from tenants.scope.functions import Function
from tenants.scope.transactions import Connection, TenantScope, borrowed, prepares

_claim = Function("claim_tool_call", ToolCall, columns=COLUMNS, call="uuid", seconds="float8")
_lock = Function("lock_tool_call", ToolCall, columns=COLUMNS, call="uuid", held="int4", seconds="float8")
_requeue = Function(
    "requeue_tool_call",
    bool,
    call="uuid",
    sources="text[]",
    was="int4",
    fence="int4",
    attempt="int4",
    started_at="timestamptz",
)
# A locked call that began a run in the same transaction: nobody has it, and it has no lease that could run out.
_WAIT = """
    UPDATE tool_calls SET status = 'running', lease_until = NULL, waits_on_run = %s, fence = %s, attempt = %s,
        started_at = %s
    WHERE id = %s AND status = ANY(%s) AND fence = %s RETURNING id"""
# Nobody but the end of the run, and the end of the call's own run, ends such a call.
_WAITING = f"""
    SELECT {COLUMNS} FROM tool_calls WHERE id = %s AND status = 'running' AND waits_on_run = %s FOR UPDATE"""
_BEGUN = (Status.QUEUED, Status.CLAIMED, Status.RUNNING)


async def claim(
    connection: Connection | None, scope: TenantScope, call_id: uuid.UUID, lease_seconds: float
) -> ToolCall | None:
    """Take and begin a queued call, alone or in a transaction: its row, with the new fence; None when it is not queued
    (any more). One with an error has not begun: a kill switch stops it, which is the error's message as JSON."""
    found = await _claim.on(connection, scope, call=call_id, seconds=lease_seconds)
    return found[0] if found else None


@asynccontextmanager
async def locked(
    scope: TenantScope, call_id: uuid.UUID, fence: int | None, idle_seconds: float
) -> AsyncIterator["LockedCall | None"]:
    """Hold a queued call, or the one that runs under a fence, locked in a transaction, which is rolled back at the end
    unless the call was settled in it. None when it is not there to be taken, or somebody else has it. One with an error
    may not begin, as in `claim`.

    PostgreSQL ends the transaction when no statement comes for `idle_seconds`.
    """
    async with borrowed() as connection:
        try:
            locking = _lock.statement(scope, call=call_id, held=fence, seconds=idle_seconds)
            _, found = await exchange(connection, BEGIN._replace(prepared=prepares()), locking)
            yield LockedCall(connection, found[0]) if found else None
        finally:
            if connection.info.transaction_status != TransactionStatus.IDLE:
                with suppress(psycopg.Error):
                    await connection.rollback()


@dataclass(frozen=True, slots=True)
class LockedCall:
    """A call whose row a transaction holds locked: as it will be when it is settled, and the transaction's connection,
    for its effect.

    Outside a pipeline, where PostgreSQL would not notice that its client says nothing any more.
    """

    connection: PooledConnection
    call: ToolCall

    async def settle(self, outcome: Outcome) -> None:
        """End the call and commit that with its effect; raises psycopg.Error, and then nothing has happened, but after
        OperationalError nobody knows."""
        settling = settle_function.statement(scope_of(self.call), **_of_begun(self.call, outcome, demanded=True))
        await exchange(self.connection, settling, COMMIT._replace(prepared=prepares()))

    async def wait(self, run_id: uuid.UUID) -> None:
        """Let the call wait for a run that was begun in the transaction, and commit both; raises psycopg.Error, and
        then nothing has happened, but after OperationalError nobody knows."""
        call = self.call
        # It is queued, or runs under the fence that it was claimed with.
        held = ["queued", "running"], call.fence - (call.status == Status.QUEUED)
        values = [run_id, call.fence, call.attempt, call.started_at, call.id, *held]
        if await (await self.connection.execute(_WAIT, values)).fetchone() is None:
            raise psycopg.errors.SerializationFailure(f"tool call {call.id} is not held any more")
        await self.connection.commit()


async def waiting(connection: Connection, call_id: uuid.UUID, run_id: uuid.UUID) -> ToolCall | None:
    """A call that waits for a run, locked; None when it does not wait any more."""
    return await rows.one(connection, ToolCall, _WAITING, [call_id, run_id])


async def requeue(connection: Connection | None, call: ToolCall) -> bool:
    """Give a call that has begun back to the queue, alone or in a transaction; False when the claim was lost."""
    sources, was = _stored(call)
    given = {"call": call.id, "sources": sources, "was": was, "fence": call.fence, "attempt": call.attempt}
    [done] = await _requeue.on(connection, scope_of(call), **given, started_at=call.started_at)
    return done


async def settle(connection: Connection | None, call: ToolCall, outcome: Outcome) -> bool:
    """End a call that has begun, alone or in a transaction; False, and no trace, when the claim was lost.

    It was claimed, or it was locked in a transaction that has been rolled back.
    """
    [done] = await settle_function.on(connection, scope_of(call), **_of_begun(call, outcome))
    return done


def _stored(call: ToolCall) -> tuple[list[str], int]:
    """The statuses, none or one, and the fence that a call which has begun has in the database: a locked one has begun
    only there where it is locked."""
    return [call.status] if call.status in _BEGUN else [], call.fence - (call.status == Status.QUEUED)


def _of_begun(call: ToolCall, outcome: Outcome, *, demanded: bool = False) -> dict[str, Any]:
    sources, was = _stored(call)
    return settlement(call, outcome, sources, was, demanded=demanded)
