"""Begins the runs of schedules: a slot, with its run or with why there is none, in one transaction.

Beat asks for it every few seconds. Whoever locks a schedule that is due writes its slots; another one that asks at the
same time passes it over, and a slot is in the database once. A run is held by nobody when it begins: a worker takes it
over at once, or the sweeper finds it.

    begun      the run goes on like any other
    skipped    missed: Toolgate was away, and a newer slot was missed too; overlap: the last run was still under way
    refused    by a kill switch, a budget, a right that is gone: what the refusal says is in the slot, and in the inbox
               of whose schedule it is. A run that fails later is told there by the statement that ends it (publish_run)
"""

import logging
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import psycopg

from audit.calls import taint
from gateway.runs import preparation
from gateway.runs.preparation import ChatRequest
from gateway.schedules.cron import Times
from gateway.schedules.errors import InvalidSchedule, NoSuchSchedule
from gateway.schedules.models import ScheduleSlot
from notifications.inbox import entries, live
from tenants.errors import Refused
from tenants.scope import transactions
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.invocation.dispatch import request_takeover

log = logging.getLogger(__name__)
Cause = ScheduleSlot.Cause
Status = ScheduleSlot.Status

# Schedules that are due, of all tenants in turn; the next look comes in seconds.
BATCH = 200
# Missed slots that are recorded one by one.
MOST_MISSED = 100
ORIGIN = "schedule"
_DUE = """
    SELECT tenant_id, user_id, id FROM schedules WHERE enabled AND next_at <= now()
    ORDER BY row_number() OVER (PARTITION BY tenant_id ORDER BY next_at), next_at LIMIT %s"""
_COLUMNS = """
    SELECT s.id, s.cron, s.tz, s.content, s.taint, s.next_at, now() AS now,
        (SELECT slug FROM agents a WHERE a.id = s.agent_id) AS agent FROM schedules s"""
_LOCK_DUE = f"{_COLUMNS} WHERE id = %s AND enabled AND next_at <= now() FOR UPDATE OF s SKIP LOCKED"
_LOCK = f"{_COLUMNS} WHERE id = %s AND user_id = %s FOR UPDATE OF s"
_MEMBER = """
    SELECT u.is_active FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.tenant_id = %s AND m.user_id = %s"""
_UNDER_WAY = """
    SELECT r.id FROM schedule_slots s JOIN runs r ON r.id = s.run_id
    WHERE s.schedule_id = %s AND r.status NOT IN ('completed', 'incomplete', 'failed', 'cancelled') LIMIT 1"""
_WRITE = """
    INSERT INTO schedule_slots (id, tenant_id, user_id, schedule_id, slot_at, cause, status, code, message, run_id)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"""
_NEXT = "UPDATE schedules SET next_at = %s WHERE id = %s"
_PAUSE = "UPDATE schedules SET enabled = false, next_at = NULL, paused_because = %s WHERE id = %s"
_PAUSE_ALL = """
    UPDATE schedules SET enabled = false, next_at = NULL, paused_because = %s
    WHERE tenant_id = %s AND user_id = %s AND created_at <= %s AND enabled"""
LEFT = "The member was removed from the tenant. Whoever comes back switches their schedules on again."
_MISSED = "Toolgate was not running then, and a later time was missed too: only the last one missed runs."
_NO_MEMBER = "Whose schedule this is was removed from the tenant. An owner can invite them again."
_NO_ACCOUNT = "Whose schedule this is has no active account. The operator can switch it on again."
_BROKEN = "Toolgate failed to begin this run. The failure was recorded; tell the operator."
_OVERLAP = "The run that this schedule had begun before was still under way."


class Slot(NamedTuple):
    """A slot as it was written."""

    id: uuid.UUID
    slot_at: datetime
    status: str
    code: str | None = None
    message: str | None = None
    run_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class _Due:
    """A schedule whose row is locked."""

    id: uuid.UUID
    cron: str
    tz: str
    content: str
    taint: list[str]
    next_at: datetime | None
    now: datetime
    agent: str | None


async def fire_due() -> int:
    """Write the slots of all schedules that are due, and have their runs taken over; how many schedules those were."""
    due = await transactions.fetch(_DUE, [BATCH], login="system")
    for row in due:
        try:
            await fire(TenantScope(row["tenant_id"], row["user_id"]), row["id"])
        except psycopg.OperationalError:
            # The database is away, or the row is locked: the next look finds it again.
            log.warning("a schedule was left for later", extra={"schedule_id": str(row["id"])})
    return len(due)


async def fire(scope: TenantScope, schedule_id: uuid.UUID) -> None:
    """Write a schedule's slots up to now: the last one runs. Without effect when none is due, or somebody else does."""
    try:
        await _fire(scope, schedule_id)
    except psycopg.OperationalError:
        raise
    except Exception:
        # It would else be tried for ever, before schedules that work.
        log.exception("a schedule was not fired", extra={"schedule_id": str(schedule_id)})
        await _fire(scope, schedule_id, broken=True)


async def _fire(scope: TenantScope, schedule_id: uuid.UUID, broken: bool = False) -> None:
    async with transaction(scope) as connection:
        row = await (await connection.execute(_LOCK_DUE, [schedule_id])).fetchone()
        if row is None:
            return
        slot = await _fired(connection, scope, _Due(**row), broken)
    await take_over(scope, slot)


async def _fired(connection: Connection, scope: TenantScope, due: _Due, broken: bool) -> Slot:
    """The last slot."""
    assert due.next_at is not None
    try:
        times = Times.stored(due.cron, due.tz)
    except InvalidSchedule as invalid:
        # It was right once: the names of time zones change.
        await connection.execute(_PAUSE, [invalid.detail, due.id])
        return await _refused(connection, scope, due, due.next_at, Cause.TIME, invalid.code, invalid.detail)
    slots = times.latest(due.next_at, due.now, MOST_MISSED + 1) or [due.next_at]
    for slot_at in slots[:-1]:
        await _skipped(connection, scope, due, slot_at, Cause.TIME, "missed", _MISSED)
    await connection.execute(_NEXT, [times.after(due.now), due.id])
    if broken:
        return await _refused(connection, scope, due, slots[-1], Cause.TIME, "internal_error", _BROKEN)
    return await _begun(connection, scope, due, slots[-1], Cause.TIME)


async def run(scope: TenantScope, schedule_id: uuid.UUID) -> Slot:
    """Begin a run of one of the user's schedules, whether it is paused or not. Raises NoSuchSchedule."""
    async with transaction(scope) as connection:
        slot = await run_now(connection, scope, schedule_id)
    await take_over(scope, slot)
    return slot


async def run_now(connection: Connection, scope: TenantScope, schedule_id: uuid.UUID) -> Slot:
    """As `run`, in the caller's transaction; `take_over` comes after the commit, or the sweeper."""
    row = await (await connection.execute(_LOCK, [schedule_id, scope.user_id])).fetchone()
    if row is None:
        raise NoSuchSchedule(schedule_id)
    due = _Due(**row)
    return await _begun(connection, scope, due, due.now, Cause.RUN_NOW)


async def take_over(scope: TenantScope, slot: Slot) -> None:
    """Ask a worker to drive the slot's run, if it has one; else let open pages know of the inbox."""
    if slot.run_id is not None:
        await request_takeover(*scope, slot.run_id)
    elif slot.status == Status.REFUSED.value:
        await live.announce(*scope)


async def _begun(connection: Connection, scope: TenantScope, due: _Due, slot_at: datetime, cause: Cause) -> Slot:
    """The slot with its run, or with why it has none."""
    member = await (await connection.execute(_MEMBER, [*scope])).fetchone()
    if member is None:
        await connection.execute(_PAUSE, [LEFT, due.id])
        return await _refused(connection, scope, due, slot_at, cause, "not_a_member", _NO_MEMBER)
    if not member["is_active"]:
        return await _refused(connection, scope, due, slot_at, cause, "not_a_member", _NO_ACCOUNT)
    if await (await connection.execute(_UNDER_WAY, [due.id])).fetchone() is not None:
        return await _skipped(connection, scope, due, slot_at, cause, "overlap", _OVERLAP)
    try:
        run = await preparation.begin_unheld(connection, scope, ChatRequest(due.content, agent=due.agent), ORIGIN)
    except Refused as refused:
        return await _refused(connection, scope, due, slot_at, cause, refused.code, refused.detail)
    if due.taint:
        of_run: Any = {"conversation_id": run.conversation_id, "run_id": run.id}
        await taint.add(connection, scope, **of_run, labels=due.taint, source=taint.SCHEDULE)
    return await _write(connection, scope, due, cause, Slot(uuid.uuid4(), slot_at, Status.BEGUN.value, run_id=run.id))


async def _skipped(
    connection: Connection, scope: TenantScope, due: _Due, slot_at: datetime, cause: Cause, code: str, why: str
) -> Slot:
    slot = Slot(uuid.uuid4(), slot_at, Status.SKIPPED.value, code, why)
    return await _write(connection, scope, due, cause, slot)


async def _refused(
    connection: Connection, scope: TenantScope, due: _Due, slot_at: datetime, cause: Cause, code: str, why: str
) -> Slot:
    slot = Slot(uuid.uuid4(), slot_at, Status.REFUSED.value, code, why[:2000])
    asked = " ".join(due.content.split())[:100]
    await entries.put(
        connection,
        *scope,
        kind="schedule",
        key=f"schedule:{slot.id}",
        title=f"Your schedule did not run: {asked}",
        text=why,
        path=f"/settings/schedules/{due.id}/",
    )
    return await _write(connection, scope, due, cause, slot)


async def _write(connection: Connection, scope: TenantScope, due: _Due, cause: Cause, slot: Slot) -> Slot:
    values: list[Any] = [slot.id, *scope, due.id, slot.slot_at, cause.value]
    await connection.execute(_WRITE, [*values, slot.status, slot.code, slot.message, slot.run_id])
    return slot


async def pause_all(connection: Connection, scope: TenantScope, left_at: datetime) -> None:
    """Pause the schedules that a member had when they left."""
    await connection.execute(_PAUSE_ALL, [LEFT, *scope, left_at])
