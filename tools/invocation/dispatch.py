"""Hands queued calls, and runs that may go on, to the workers. A message that is lost costs seconds: the sweeper sends
it again."""

import asyncio
import logging
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from celery import current_app

from tools.registry import registry

log = logging.getLogger(__name__)

# Few and our own: each keeps its connection to the broker, and none waits behind other work.
_THREADS = ThreadPoolExecutor(4, thread_name_prefix="dispatch")
# (tenant_id, user_id, call_id, tool_name)
QueuedCall = tuple[uuid.UUID, uuid.UUID, uuid.UUID, str]


def send(calls: Sequence[QueuedCall]) -> None:
    """Tell the workers about calls that are committed as queued; blocks on the broker, whose absence is only logged."""
    for tenant_id, user_id, call_id, tool_name in calls:
        tool = registry().get(tool_name)
        task = "tools.execute_local" if tool is not None and tool.transactional else "tools.execute_remote"
        try:
            current_app.send_task(
                task, args=[str(tenant_id), str(user_id), str(call_id)], ignore_result=True, retry=False
            )
        except Exception as away:
            log.warning("dispatch left to the sweeper", extra={"call_id": str(call_id), "why": type(away).__name__})
            return


async def dispatch(calls: Sequence[QueuedCall]) -> None:
    """The same, off the event loop."""
    if calls:
        await asyncio.get_running_loop().run_in_executor(_THREADS, send, calls)


def _send_run(tenant_id: uuid.UUID, user_id: uuid.UUID, run_id: uuid.UUID) -> None:
    ids = [str(tenant_id), str(user_id), str(run_id)]
    try:
        current_app.send_task("gateway.take_over", args=ids, ignore_result=True, retry=False)
    except Exception as away:
        log.warning("take-over left to the sweeper", extra={"run_id": ids[2], "why": type(away).__name__})


async def request_takeover(tenant_id: uuid.UUID, user_id: uuid.UUID, run_id: uuid.UUID) -> None:
    """Ask a worker to take a run over, off the event loop; it finds out for itself whether there is anything to do."""
    await asyncio.get_running_loop().run_in_executor(_THREADS, _send_run, tenant_id, user_id, run_id)
