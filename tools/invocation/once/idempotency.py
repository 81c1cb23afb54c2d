"""Idempotency keys: a repeated request is the same call, or the same run, for 24 hours.

    (none), or a claim that has run out → claimed   claim   before the gates are asked, so that nothing is counted twice
    claimed → bound to a call                       bind    in the commit that records the call
    (none) → bound to a run                         the SQL function `bind_run`, in the commit that begins the run

A request that was lost between claim and bind leaves a claim that runs out; the next request with the key takes it
over.
"""

import asyncio
import uuid
from dataclasses import dataclass
from typing import Any

from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.invocation.errors import IdempotencyMismatch
from tools.invocation.once import pending

# How long a request may take from its claim to its commit, before another one with the same key takes over.
CLAIM_SECONDS = 10
# How often a request looks whether the one that holds the claim has committed.
LOOK_SECONDS = 0.1

_CLAIM = """
    INSERT INTO idempotency_keys AS held (tenant_id, user_id, key, request_hash, claimed_until)
    VALUES (%(tenant_id)s, %(user_id)s, %(key)s, %(request_hash)s, now() + make_interval(secs => %(seconds)s))
    ON CONFLICT (tenant_id, user_id, key) DO UPDATE SET claimed_until = excluded.claimed_until
        WHERE held.request_hash = excluded.request_hash AND held.call_id IS NULL AND held.run_id IS NULL
            AND held.claimed_until < now()
    RETURNING id, claimed_until"""
_HOLDER = "SELECT request_hash, call_id, run_id FROM idempotency_keys WHERE user_id = %(user_id)s AND key = %(key)s"
_BIND = """
    UPDATE idempotency_keys SET call_id = %s, claimed_until = NULL
    WHERE id = %s AND claimed_until = %s AND call_id IS NULL RETURNING id"""
# The key of a pending call is made of its hash; see `tools.invocation.once.pending`.
_ERASE = """
    UPDATE idempotency_keys SET request_hash = '', key = CASE WHEN starts_with(key, %s) THEN %s || id ELSE key END
    WHERE call_id = ANY(%s)"""
CONSTRAINT = "idempotency_keys_once"
# A part of the statement that forgets keys, beside `old`, which has the ids of runs whose keys are forgotten.
FORGET = """
    DELETE FROM idempotency_keys
    WHERE run_id IN (SELECT id FROM old) OR created_at < now() - interval '24 hours' RETURNING id"""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to make the key's call, under the claim's own time."""

    id: uuid.UUID
    claimed_until: Any


class ClaimLost(Exception):
    """Another request took the key over meanwhile; nothing was recorded under this claim."""


async def claim(scope: TenantScope, key: str, request_hash: bytes) -> Claim | uuid.UUID:
    """Claim a key; or, where its call has been recorded, the call's id. Waits while another request holds the claim.

    Raises IdempotencyMismatch when the key began a run, or another call.
    """
    values = {**scope._asdict(), "key": key, "request_hash": request_hash, "seconds": CLAIM_SECONDS}
    while True:
        async with transaction(scope) as connection:
            row = await (await connection.execute(_CLAIM, values)).fetchone()
            if row is not None:
                return Claim(**row)
            holder = await (await connection.execute(_HOLDER, values)).fetchone()
        # Without a holder, the key was forgotten in this moment: claim it anew.
        if holder is not None:
            if holder["run_id"] is not None or bytes(holder["request_hash"]) != request_hash:
                raise IdempotencyMismatch
            if holder["call_id"] is not None:
                call_id: uuid.UUID = holder["call_id"]
                return call_id
        await asyncio.sleep(LOOK_SECONDS)


async def bind(connection: Connection, held: Claim, call_id: uuid.UUID) -> None:
    """Bind a claimed key to its call, in the transaction that records the call; raises ClaimLost."""
    bound = await connection.execute(_BIND, [call_id, held.id, held.claimed_until])
    if await bound.fetchone() is None:
        raise ClaimLost


async def erase(connection: Connection, call_ids: list[uuid.UUID]) -> None:
    """Erase the hashes of the calls' requests; their keys stay used."""
    await connection.execute(_ERASE, [pending.PREFIX, pending.PREFIX, call_ids])
