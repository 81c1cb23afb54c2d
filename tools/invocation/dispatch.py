"""Hands queued calls, and what may go on, to the workers. A message that is lost costs seconds: the sweeper sends
it again."""

import logging
import uuid
from collections.abc import Sequence

from redis.exceptions import RedisError

from tenants.scope.transactions import TenantScope
from tools.invocation import ports
from tools.network import messages
from tools.registry import registry

log = logging.getLogger(__name__)

# (tenant_id, user_id, call_id, tool_name)
QueuedCall = tuple[uuid.UUID, uuid.UUID, uuid.UUID, str]


async def dispatch(calls: Sequence[QueuedCall], *, again: bool = False) -> None:
    """Tell the workers about calls that are committed as queued, or tell them `again`; a broker that is away is only
    logged. A call that begins a run is begun here: who drives a run drives its children."""
    sent = []
    for call in calls:
        tenant_id, user_id, call_id, name = call
        if begins_run(name):
            ports.children().begin(TenantScope(tenant_id, user_id), call_id, again=again)
        else:
            sent.append(call)
    try:
        if sent:
            await messages.send([(_task(name, again), [str(each) for each in ids]) for *ids, name in sent])
    except (RedisError, OSError, TimeoutError) as away:
        left = [str(call_id) for _, _, call_id, _ in sent]
        log.warning("dispatch left to the sweeper", extra={"call_ids": left, "why": type(away).__name__})


def begins_run(tool_name: str) -> bool:
    """Whether calls of the tool begin a run, and wait for it."""
    tool = registry().get(tool_name)
    return tool is not None and "children" in tool.handles


def _task(tool_name: str, again: bool) -> str:
    tool = registry().get(tool_name)
    if tool is None or not tool.transactional:
        return "tools.execute_remote"
    return "tools.execute_again" if again else "tools.execute_local"


async def request_takeover(tenant_id: uuid.UUID, user_id: uuid.UUID, run_id: uuid.UUID) -> None:
    """Ask a worker to take a run over; it finds out for itself whether there is anything to do."""
    await _request("gateway.take_over", tenant_id, user_id, run_id)


async def request_resumption(tenant_id: uuid.UUID, user_id: uuid.UUID, request_id: uuid.UUID) -> None:
    """Ask a worker to let an approved call without a run go on; it finds out for itself whether it has."""
    await _request("approvals.go_on", tenant_id, user_id, request_id)


async def request_answered(tenant_id: uuid.UUID, user_id: uuid.UUID, call_id: uuid.UUID) -> None:
    """Ask a worker to let a call without a run go on whose user has answered, if it has not yet."""
    await _request("approvals.answered", tenant_id, user_id, call_id)


async def _request(task: str, *ids: uuid.UUID) -> None:
    try:
        await messages.send([(task, [str(each) for each in ids])])
    except (RedisError, OSError, TimeoutError) as away:
        extra = {"task": task, "id": str(ids[-1]), "why": type(away).__name__}
        log.warning("task left to the sweeper", extra=extra)
