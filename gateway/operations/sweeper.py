"""Finds what lost its worker, its driver or its message, and sets it going again.

It looks across tenants on the system's login, which may read ids and leases and no more; every change
is then made within the row's own tenant, by the same guarded transitions as always, so that two sweepers, or
one and a late worker, do no harm.
"""

import logging
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import psycopg
from django.conf import settings

from approvals.questions import answering
from approvals.questions import erasure as question_erasure
from approvals.requests import decisions
from approvals.requests import erasure as approval_erasure
from audit.calls import begun, reading, recorder
from audit.calls.recorder import Failure, Outcome
from audit.calls.rows import ToolCall
from audit.retention import expiry
from gateway.operations import departures as ending
from gateway.runs.conversations import erasure
from gateway.runs.prompting import continuity
from gateway.runs.repository import CALL_ENDED
from gateway.schedules import expiry as expiry_of_slots
from notifications import outbox
from notifications.destinations import sending
from notifications.inbox import entries, reminders
from services.connections import revocation
from tenants.login import clients
from tenants.members import departures
from tenants.scope import transactions
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.invocation import lookup
from tools.invocation.dispatch import (
    QueuedCall,
    dispatch,
    request_answered,
    request_resumption,
    request_takeover,
)
from tools.invocation.in_worker.execution import MAX_ATTEMPTS
from tools.invocation.live import wakeups
from tools.invocation.once import idempotency

log = logging.getLogger(__name__)
Swept = TypeVar("Swept")

# What psycopg counts as operational, and is over with the transaction that it ended.
_OF_THE_ROW = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.QueryCanceled,
)
# At the most in one sweep; the next one comes in seconds.
BATCH = 500
# A message that was sent this long ago and not taken is sent again.
RESEND_SECONDS = 6

# As the index of leases has it.
_LOST_RUNS = """
    SELECT tenant_id, user_id, id AS run_id FROM runs
    WHERE status = 'in_progress' AND finished_at IS NULL AND coalesce(lease_until, '-infinity') < now() LIMIT %s"""
# A decision that its run has not taken note of by now; the run finds out for itself whether somebody drives it.
_UNNOTED = """
    SELECT DISTINCT tenant_id, user_id, run_id FROM approval_requests
    WHERE status <> 'pending' AND used_at IS NULL AND decided_at < now() - interval '2 seconds' AND run_id IS NOT NULL
    LIMIT %s"""
# A parked run whose call has ended with its child. It begins with the children of which no parent has taken note: of
# most runs that are parked no child has ended, and none of those is looked at.
ENDED_CALLS = f"""
    WITH ended AS MATERIALIZED (SELECT p.* FROM (SELECT DISTINCT parent_run_id FROM runs WHERE unnoted) c
        CROSS JOIN LATERAL (SELECT p.tenant_id, p.user_id, p.id, p.turns, p.open_calls FROM runs p
            WHERE p.id = c.parent_run_id AND p.open_calls > 0 OFFSET 0) p)
    SELECT tenant_id, user_id, id AS run_id FROM ended AS runs WHERE {CALL_ENDED} LIMIT %s"""
# Children of runs that were over, or gone, before they took note.
_OF_ENDED = """
    UPDATE runs SET unnoted = false WHERE id IN (SELECT c.id FROM runs c WHERE c.unnoted
        AND NOT EXISTS (SELECT FROM runs p WHERE p.id = c.parent_run_id AND p.finished_at IS NULL)
        FOR NO KEY UPDATE OF c SKIP LOCKED) RETURNING id"""
# An answer that its call has not taken note of by now.
_ANSWERED = """
    SELECT DISTINCT tenant_id, user_id, call_id, run_id FROM questions
    WHERE ready_at < now() - interval '2 seconds' AND used_at IS NULL LIMIT %s"""
# An approved call without a run that has not gone on by now.
_UNUSED = """
    SELECT tenant_id, user_id, id FROM approval_requests
    WHERE status = 'approved' AND used_at IS NULL AND decided_at < now() - interval '2 seconds' AND run_id IS NULL
    ORDER BY decided_at LIMIT %s"""
_OVERDUE = """
    SELECT id, tenant_id, user_id FROM approval_requests WHERE status = 'pending' AND expires_at < now()
    ORDER BY expires_at LIMIT %s"""
_UNANSWERED = _OVERDUE.replace("approval_requests", "questions")


async def sweep() -> dict[str, int]:
    """One sweep; returns how many of each it found."""
    lost = await reading.lost(BATCH)
    requeued = await _each(lost, _recover)
    untaken = await reading.untaken(RESEND_SECONDS, BATCH)
    requeued += await _each(untaken, _resend)
    await dispatch([call for call in requeued if call is not None], again=True)
    overdue = await transactions.fetch(_OVERDUE, [BATCH], login="system")
    await _each(overdue, _expire)
    unanswered = await transactions.fetch(_UNANSWERED, [BATCH], login="system")
    await _each(unanswered, _expire_question)
    driverless = await transactions.fetch(_LOST_RUNS, [BATCH], login="system")
    unnoted = await transactions.fetch(_UNNOTED, [BATCH], login="system")
    await transactions.fetch(_OF_ENDED, login="system")
    ended_calls = await transactions.fetch(ENDED_CALLS, [BATCH], login="system")
    for row in (*driverless, *unnoted, *ended_calls):
        await request_takeover(row["tenant_id"], row["user_id"], row["run_id"])
    unused = await transactions.fetch(_UNUSED, [BATCH], login="system")
    for row in unused:
        await request_resumption(row["tenant_id"], row["user_id"], row["id"])
    answered = await transactions.fetch(_ANSWERED, [BATCH], login="system")
    for row in answered:
        again = request_answered if row["run_id"] is None else request_takeover
        await again(row["tenant_id"], row["user_id"], row["run_id"] or row["call_id"])
    reminded = await _each(await reminders.due(BATCH), reminders.fire)
    left = await departures.due(BATCH)
    await _each(left, ending.end)
    found = {
        "lost_calls": len(lost),
        "untaken_calls": len(untaken),
        "driverless_runs": len(driverless),
        "overdue_approvals": len(overdue),
        "unnoted_decisions": len(unnoted) + len(unused),
        "ended_children": len(ended_calls),
        "overdue_questions": len(unanswered),
        "unused_answers": len(answered),
        "departed_members": len(left),
        "reminders": sum(reminded),
        "tenants_to_notify": await outbox.send_due(),
        "tenants_to_revoke_tokens": await revocation.send_due(),
    }
    if any(found.values()):
        log.info("swept", extra=found)
    return found


async def _each(found: list[dict[str, Any]], work: Callable[[dict[str, Any]], Awaitable[Swept]]) -> list[Swept]:
    """What `work` makes of each row; a row that fails is logged, and keeps no other from its turn."""
    done: list[Swept] = []
    for row in found:
        try:
            done.append(await work(row))
        except Exception as error:
            if isinstance(error, psycopg.OperationalError) and not isinstance(error, _OF_THE_ROW):
                # The database is away: nothing more can be done in this sweep.
                raise
            log.exception("a row was not swept", extra={"row_id": str(row["id"])})
    return done


async def _resend(row: dict[str, Any]) -> QueuedCall | None:
    """A call that nobody took, counted as waiting from now on; None when it does not wait any more."""
    async with transaction(TenantScope(row["tenant_id"], row["user_id"])) as connection:
        waits = await recorder.resend(connection, row["id"])
    return (row["tenant_id"], row["user_id"], row["id"], row["tool_name"]) if waits else None


async def _expire(row: dict[str, Any]) -> None:
    await decisions.expire(TenantScope(row["tenant_id"], row["user_id"]), row["id"])


async def _expire_question(row: dict[str, Any]) -> None:
    await answering.expire(TenantScope(row["tenant_id"], row["user_id"]), row["id"])


async def _recover(row: dict[str, Any]) -> QueuedCall | None:
    """Give a call whose worker was lost back to the queue, or end it; the queued call, if it was queued."""
    async with transaction(TenantScope(row["tenant_id"], row["user_id"])) as connection:
        call = await reading.lock_lost(connection, row)
        if call is None:
            return None
        tool = await lookup.of_call(connection, call.tool_name)
        repeatable = call.status == "claimed" or (tool is not None and (tool.idempotent or tool.transactional))
        if repeatable and call.attempt < MAX_ATTEMPTS:
            await begun.requeue(connection, call)
            return call.tenant_id, call.user_id, call.id, call.tool_name
        await begun.settle(connection, call, _lost(call, repeatable))
    await wakeups.publish(call.wake_up_id)
    return None


def _lost(call: ToolCall, repeatable: bool) -> Outcome:
    if repeatable:
        message = f"{call.tool_name} lost its worker {call.attempt} times; it had no effect."
        failure = Failure("execution_error", message)
    else:
        lost = f"The worker was lost while {call.tool_name} ran"
        message = f"{lost}: it may or may not have had its effect. It was not run again."
        failure = Failure("outcome_unknown", message)
    began = call.started_at
    elapsed = round((datetime.now(UTC) - began).total_seconds() * 1000) if began else None
    return Outcome(failure=failure, display=message, execution_time_ms=elapsed)


# In one statement, so that no key is ever half forgotten.
_FORGET_KEYS = f"""WITH old AS (
    UPDATE runs SET idempotency_key = NULL
    WHERE idempotency_key IS NOT NULL AND created_at < now() - interval '24 hours' RETURNING id)
    {idempotency.FORGET}"""
_DROP_SESSIONS = "DELETE FROM django_session WHERE expire_date < now() RETURNING session_key"
_FORGET_USAGE = """
    DELETE FROM turn_usage WHERE at < date_trunc('month', now(), 'UTC') - make_interval(months => %s)
    RETURNING tenant_id"""
# Months of tool calls that always stand ready.
MONTHS_AHEAD = 3


async def tidy() -> None:
    """Hourly: partitions for the months ahead; idempotency keys of yesterday, expired sessions, old continuations, old
    slots of schedules, what OAuth clients cannot use any more; the payloads, the months and the usage that are not
    kept any longer."""
    await transactions.fetch("SELECT make_tool_call_partitions(%s)", [MONTHS_AHEAD], login="system")
    await transactions.fetch(_FORGET_KEYS, login="system")
    await transactions.fetch(_DROP_SESSIONS, login="system")
    await transactions.fetch(continuity.FORGET, [continuity.RETENTION_DAYS], login="system")
    await outbox.forget_old()
    await expiry_of_slots.forget_old()
    await entries.forget_old()
    await sending.forget_old()
    await reminders.forget_old()
    await clients.forget()
    await expiry.erase_old(erasure.copies)
    if settings.TOOLGATE_KEEP_MONTHS:
        await expiry.drop_months(settings.TOOLGATE_KEEP_MONTHS, _erase_between)
        await transactions.fetch(_FORGET_USAGE, [settings.TOOLGATE_KEEP_MONTHS], login="system")


async def _erase_between(connection: Connection, tenant_ids: list[uuid.UUID], low: uuid.UUID, high: uuid.UUID) -> None:
    """What is kept of the approvals and the questions of a month's calls."""
    await approval_erasure.erase_between(connection, tenant_ids, low, high)
    await question_erasure.erase_between(connection, tenant_ids, low, high)
