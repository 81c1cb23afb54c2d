"""Stops runs: for good, where their user cancels them, or in this process alone, where it ends.

Either way a driver here is stopped, and waited for while it tells of that.
"""

import asyncio
import uuid
from contextlib import suppress

from audit.calls.recorder import Failure
from gateway.runs import repository as records
from gateway.runs.children import cancelling, waking
from gateway.runs.lifecycle import following
from gateway.runs.lifecycle.driving import driven_here
from gateway.runs.view import RunView
from tenants.scope.transactions import TenantScope, transaction
from tools.invocation.dispatch import request_takeover
from tools.invocation.live import wakeups

# How long a driver that has ended its run may take to tell of that, where its run is cancelled.
_TOLD_SECONDS = 1.0


async def cancel(scope: TenantScope, run_id: uuid.UUID) -> RunView:
    """End an open run and every run below it: calls that nobody has begun never begin; one that runs ends by itself and
    is recorded.

    A run that is over stays as it is. Raises NoSuchRun.
    """
    stopped = Failure("cancelled", "The run was cancelled.", display="The run was cancelled before it began.")
    async with transaction(scope) as connection:
        cancelled = await cancelling.tree(connection, scope, run_id, stopped)
    if run_id in driven_here and run_id not in cancelled.run_ids:
        # It was over before: its driver still tells of that, or does not know it.
        await asyncio.wait([driven_here[run_id].task], timeout=_TOLD_SECONDS)
    if driven := [driven_here[each].task for each in (run_id, *cancelled.run_ids) if each in driven_here]:
        for task in driven:
            task.cancel()
        await asyncio.wait(driven)
    if run_id not in cancelled.run_ids:
        await wakeups.publish(run_id)
    await waking.cancelled(scope, cancelled)
    return await following.look(scope, run_id)


async def release_all() -> None:
    """Stop driving, as when the process ends, and ask the workers to go on with every run at once."""
    held = list(driven_here.values())
    for _, task in held:
        task.cancel()
    for view, task in held:
        await asyncio.wait([task], timeout=1)
        if view.final:
            continue
        with suppress(Exception):
            async with transaction(TenantScope(view.run.tenant_id, view.run.user_id)) as connection:
                await records.release(connection, view.run)
            await request_takeover(view.run.tenant_id, view.run.user_id, view.id)
