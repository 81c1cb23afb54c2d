"""Calls whose client could not wait for them: asked for again with the same arguments, it is the same call.

    (none) → pending       hold      in the commit that records a call which humans must approve; or later, when its
                                     client is told that it still runs
    pending → handed over  release   the client has the result: the same arguments are a new call from now on

A pending call is a row of `idempotency_keys` under a key that no client can send, and is forgotten like the others,
after 24 hours. A result that was handed over and got lost on its way is not handed over again: asking once more makes a
call that humans have to approve once more.
"""

import uuid

from audit.calls import reading
from audit.calls.rows import ToolCall
from tenants.scope.transactions import Connection, TenantScope, read, transaction

# A client's keys are printable ASCII.
PREFIX = "\u00a7"

_FIND = b"SELECT call_id FROM idempotency_keys WHERE user_id = $1 AND key = $2"
_HOLD = """
    INSERT INTO idempotency_keys (tenant_id, user_id, key, request_hash, call_id) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (tenant_id, user_id, key) DO NOTHING RETURNING id"""
_RELEASE = "UPDATE idempotency_keys SET key = %s || id WHERE user_id = %s AND key = %s AND call_id = %s"


class AlreadyPending(Exception):
    """Another request has made the same call pending meanwhile."""


def key(request_hash: bytes) -> str:
    """The key under which a call of this tool with these arguments is pending."""
    return PREFIX + request_hash.hex()


async def find(caller: TenantScope, request_hash: bytes) -> ToolCall | None:
    """The user's pending call with this hash, if there is one."""
    found: list[uuid.UUID] = await read(caller, _FIND, [caller.user_id, key(request_hash)], lambda call_id: call_id)
    if not found:
        return None
    async with transaction(caller) as connection:
        call = await reading.one(connection, found[0], caller.user_id)
        if call is None:
            await release(connection, caller, request_hash, found[0])
    return call


async def hold(connection: Connection, caller: TenantScope, request_hash: bytes, call_id: uuid.UUID) -> None:
    """Make a call pending, in the caller's transaction; raises AlreadyPending when another one is."""
    values = [*caller, key(request_hash), request_hash, call_id]
    if await (await connection.execute(_HOLD, values)).fetchone() is None:
        raise AlreadyPending


async def release(connection: Connection, caller: TenantScope, request_hash: bytes, call_id: uuid.UUID) -> None:
    """Let the same arguments be a new call, in the caller's transaction; no effect when the call is not pending."""
    await connection.execute(_RELEASE, [PREFIX, caller.user_id, key(request_hash), call_id])
