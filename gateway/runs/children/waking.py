"""Wakes a parent whose call has ended with its child. The sweeper makes up for a wake-up that is lost."""

import uuid
from collections.abc import Callable, Iterable

from approvals import events
from gateway.runs.children.cancelling import Cancelled
from notifications import outbox
from tenants.scope.transactions import TenantScope
from tools.invocation.live import wakeups

_drive: Callable[[TenantScope, uuid.UUID], None] | None = None


def connect(drive: Callable[[TenantScope, uuid.UUID], None]) -> None:
    """Hand in what takes a run over in this process, without waiting for it."""
    global _drive
    _drive = drive


def drive(scope: TenantScope, run_id: uuid.UUID) -> None:
    """Have a run taken over in this process, if it is parked and may go on."""
    if _drive is not None:
        _drive(scope, run_id)


async def call_ended(scope: TenantScope, run_id: uuid.UUID) -> None:
    """Wake whoever drives or watches the run, after the commit; if it is parked, it is taken over here."""
    await wakeups.publish(run_id)
    drive(scope, run_id)


async def changed(run_ids: Iterable[uuid.UUID]) -> None:
    """Wake whoever drives or watches runs, after the commit."""
    for run_id in run_ids:
        await wakeups.publish(run_id)


async def cancelled(scope: TenantScope, found: Cancelled) -> None:
    """Let everybody know of runs that were cancelled, after the commit: drivers, queues, targets, and their parent."""
    await changed(found.run_ids)
    for each in found.events:
        await events.publish(each)
    if found.notified:
        await outbox.ask([scope.tenant_id])
    if found.ended_call_of is not None:
        await call_ended(scope, found.ended_call_of)
