"""Retention: erases payloads after each tenant's number of days, and drops whole months after the operator's number.

Both are done by the hourly tidying, a little at a time, and continue in the next hour where they stopped.
"""

import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg

from audit.calls import ledger
from audit.identifiers import first_id_at
from audit.retention import erasure
from audit.retention.erasure import Also, Cause, Scope
from tenants.people import retention
from tenants.scope import transactions
from tenants.scope.transactions import Connection, transaction

log = logging.getLogger(__name__)
Row = dict[str, Any]
# What else goes with a month, in the same transaction: (connection, tenants, low, high).
AlsoBetween = Callable[[Connection, list[uuid.UUID], uuid.UUID, uuid.UUID], Awaitable[None]]

# In one tidying, for all tenants together; each batch is a transaction of its own, so nobody waits for more than one.
MOST_SECONDS = 600.0

_MONTHS = "SELECT * FROM old_tool_call_months(%s) AS month"
_MAKE = "SELECT make_tool_call_month(%s)"
_HOLD = "SELECT * FROM hold_tool_call_month(%s, %s)"
_DROP = "SELECT drop_tool_call_month(%s, %s) AS dropped"


async def erase_old(also: Also, *, seconds: float = MOST_SECONDS) -> int:
    """Erase the payloads whose retention has ended; returns the number of calls."""
    until = time.monotonic() + seconds
    erased = 0
    for tenant in await retention.keeping():
        try:
            erased += await _erase_of(tenant, also, until)
        except Exception:
            # One tenant's failure does not stop the others' retention.
            log.exception("retention failed", extra={"tenant": str(tenant["id"])})
    return erased


async def _erase_of(tenant: Row, also: Also, until: float) -> int:
    end = datetime.now(UTC) - timedelta(days=tenant["retention_days"])
    begin = tenant["erased_until"]
    if begin is not None and begin >= end:
        return 0
    cause = Cause(tenant["id"], Scope.RETENTION)
    after = uuid.UUID(int=first_id_at(begin).int - 1) if begin else erasure.FIRST
    before = first_id_at(end)
    erased, waiting, done = 0, None, False
    while not done and time.monotonic() < until:
        async with transaction(transactions.TenantScope(tenant["id"], erasure.NOBODY)) as connection:
            batch = await erasure.following(connection, cause, after=after, before=before)
            row = await erasure.erase(connection, cause, batch.final, also) if batch.final else None
        erased += row["calls"] if row else 0
        waiting = waiting or min(batch.open, default=None)
        after, done = batch.last or after, batch.last is None
    # A call that is not final yet is read again, with the calls after it.
    got_to = waiting or (before if done else after)
    await retention.note_erased(tenant["id"], max(_moment(got_to), begin or _moment(got_to)))
    return erased


def _moment(call_id: uuid.UUID) -> datetime:
    return datetime.fromtimestamp((call_id.int >> 80) / 1000, UTC)


async def drop_months(keep: int, also: AlsoBetween) -> list[date]:
    """Drop the months before the last `keep` and this one; returns those dropped, logs those that have to wait."""
    gone = []
    for found in await transactions.fetch(_MONTHS, [keep], login="system"):
        month: date = found["month"]
        try:
            await transactions.fetch(_MAKE, [month], login="system")
            if await _drop(month, keep, also):
                gone.append(month)
        except psycopg.Error as refused:
            log.warning("month not dropped", extra={"month": str(month), "why": str(refused).splitlines()[0]})
    return gone


async def _drop(month: date, keep: int, also: AlsoBetween) -> bool:
    async with (await transactions.pool("system")).connection() as connection, connection.transaction() as everything:
        held = await (await connection.execute(_HOLD, [month, keep])).fetchall()
        for each in held:
            cause = Cause(each["tenant_id"], Scope.MONTH)
            row = erasure.new(cause, each["calls"], each["low"], each["high"])
            await connection.execute(erasure.INSERT.encode(), row)
            entry = ledger.entry(each["tenant_id"], row["row_key"], ledger.dropped(row), record_id=row["id"])
            await connection.execute(ledger.INSERT.encode(), entry)
        if held:
            await also(connection, [each["tenant_id"] for each in held], held[0]["low"], held[0]["high"])
        [result] = await (await connection.execute(_DROP, [month, keep])).fetchall()
        if result["dropped"]:
            log.info("month dropped", extra={"month": str(month), "calls": sum(each["calls"] for each in held)})
            return True
        raise psycopg.Rollback(everything)
    log.warning("month not dropped", extra={"month": str(month), "why": "the history was in use all the time"})
    return False
