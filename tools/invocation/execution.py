"""Runs one queued call in the worker, and records what became of it.

    transactional tools   lock + effect + settle in one commit: a lost worker leaves "queued", and no effect
    all others            claim │ effect │ settle: a lost worker leaves "running", and the sweeper decides

A call of a transactional tool whose message is sent again is claimed first, in a commit of its own: else one that
ends its worker each time would never be counted, and never end.

What is retried: a timeout of an idempotent tool, with back-off, within the call's own time limit. Late
workers change nothing, because every write carries the fence of the claim.
"""

import asyncio
import logging
import random
import time
import traceback
import uuid
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
import psycopg
from django.conf import settings

from audit.calls import recorder
from audit.calls.recorder import Failure, Outcome
from audit.calls.rows import ToolCall
from audit.canonical import NotCanonical, sha256_hex
from tenants.scope.transactions import Connection, TenantScope
from tools.errors import ToolCallRejected, ToolError, ToolPermissionDenied, ToolTimeout, ToolValidationError
from tools.interface import Tool, ToolContext, ToolResult
from tools.invocation import lookup, wakeups
from tools.invocation.circuit import OPEN_SECONDS, circuits
from tools.invocation.leases import leases
from tools.network import redis
from tools.network.cache import TenantCache
from tools.registry import registry
from tools.stores import NoteStore, TaskStore

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
BACK_OFF = 0.5
# What `tool_calls.output` keeps whole.
MAX_OUTPUT_BYTES = 1024 * 1024
_sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}


@dataclass(slots=True)
class _Execution:
    """A call on its way to its end; `deadline` is set when its first attempt begins, and holds for all of them."""

    scope: TenantScope
    call_id: uuid.UUID
    deadline: float | None = None

    def time_left(self, call: ToolCall) -> float:
        """Seconds that the attempts of the call may still take."""
        now = time.monotonic()
        if self.deadline is None:
            self.deadline = now + call.time_limit_ms / 1000
        return max(0.0, self.deadline - now)


async def execute(tenant_id: uuid.UUID, user_id: uuid.UUID, call_id: uuid.UUID, *, claims: bool = True) -> None:
    """Run a queued call to its end, whatever its tool does; without effect when somebody else has it.

    Unless it `claims`, that a transactional tool's call has begun is committed with its effect, and not before.
    """
    execution = _Execution(TenantScope(tenant_id, user_id), call_id)
    while True:
        tried = await _claimed(execution) if claims else await _at_once(execution)
        if tried is None:
            return
        call, again = tried
        if not again:
            await wakeups.publish(call.wake_up_id)
            return
        await asyncio.sleep(BACK_OFF * 2 ** (call.attempt - 1) * random.uniform(0.5, 1))


async def _claimed(execution: _Execution) -> tuple[ToolCall, bool] | None:
    """One attempt, of which everybody knows while it lasts: the call, and whether it is to be tried again."""
    scope = execution.scope
    call = await recorder.claim(None, scope, execution.call_id, settings.RUN_LEASE_SECONDS)
    if call is None:
        return None
    with leases.held(call.id, call.fence):
        tool = await lookup.in_scope(scope, call.tool_name)
        if tool is not None and tool.transactional:
            return await _at_once(execution, call.fence)
        await wakeups.publish(call.wake_up_id)
        if tool is None:
            await _settle(call, _gone(call))
        elif not circuits.lets_through(scope.tenant_id, tool.name):
            await _settle(call, _resting(tool))
        else:
            began = time.monotonic()
            try:
                result = await _run(tool, call, execution, None)
                await _settle(call, _success(result, began))
            except Exception as error:
                return call, await _fail(execution, call, tool, error, began)
            circuits.succeeded(scope.tenant_id, tool.name)
        return call, False


async def _at_once(execution: _Execution, fence: int | None = None) -> tuple[ToolCall, bool] | None:
    """One attempt of a transactional tool, in one transaction, of a queued call or of one that is claimed: the call,
    and whether it is to be tried again."""
    tenant_id = execution.scope.tenant_id
    async with recorder.locked(execution.scope, execution.call_id, fence, settings.RUN_LEASE_SECONDS) as held:
        if held is None:
            return None
        call, tool = held.call, registry().get(held.call.tool_name)
        if tool is not None and tool.transactional:
            began = time.monotonic()
            try:
                result = await _run(tool, call, execution, held.connection)
                await held.settle(_success(result, began))
                circuits.succeeded(tenant_id, tool.name)
                return call, False
            except Exception as error:
                if held.connection.closed and not isinstance(error, ToolError):
                    # Nothing of it has happened, or all of it: the sweeper finds out.
                    raise
                failed = error
    if tool is None or not tool.transactional:
        # It was installed otherwise where its message was sent from.
        return await _claimed(execution) if fence is None else None
    return call, await _fail(execution, call, tool, failed, began)


async def _fail(execution: _Execution, call: ToolCall, tool: Tool, raised: Exception, began: float) -> bool:
    """Settle what went wrong, or give the call back to the queue: whether it is to be tried again."""
    guarded = (execution.scope.tenant_id, tool.name)
    if isinstance(raised, ToolError):
        error = registry().settings(tool.name).cleaned(raised)
        # What is wrong with the call itself says nothing about the tool.
        if not isinstance(error, ToolValidationError | ToolPermissionDenied | ToolCallRejected):
            circuits.failed(*guarded)
        if _worth_trying_again(tool, error, call, execution):
            return await recorder.requeue(None, call)
        await _settle(call, _failed(error, began))
        return False
    if isinstance(raised, psycopg.OperationalError):
        # The database is away: nothing can be recorded, so the lease runs out and the sweeper decides.
        raise raised
    # A fault of the tool's author: recorded for the user without its details, which go to the log.
    trace = registry().settings(tool.name).without_secrets("".join(traceback.format_exception(raised)))
    log.error("tool crashed\n%s", trace, extra={"tool": tool.name, "call_id": str(call.id)})
    circuits.failed(*guarded)
    crashed = Failure("execution_error", f"{tool.name} failed unexpectedly; the operator finds why in the log.")
    await _settle(call, Outcome(failure=crashed, display=crashed.message, execution_time_ms=_since(began)))
    return False


def _gone(call: ToolCall) -> Outcome:
    gone = Failure("unavailable", f"The tool {call.tool_name} is not installed any more; tell the operator.")
    return Outcome(failure=gone, display=gone.message)


def _resting(tool: Tool) -> Outcome:
    resting = Failure(
        "unavailable",
        f"{tool.name} has failed several times in a row for this tenant and is not called for "
        f"{OPEN_SECONDS:g} seconds. Nothing was called. Try again after that; if it goes on, tell the operator.",
    )
    return Outcome(failure=resting, display=resting.message)


async def _run(tool: Tool, call: ToolCall, execution: _Execution, connection: Connection | None) -> ToolResult:
    seconds = execution.time_left(call)
    context = ToolContext(**_handles(tool, call, seconds, connection))
    try:
        async with asyncio.timeout(seconds):
            return await tool.execute(call.arguments, context)
    except TimeoutError:
        limit = call.time_limit_ms / 1000
        raise ToolTimeout(f"{tool.name} did not answer within {limit:g} seconds.", limit) from None


def _handles(tool: Tool, call: ToolCall, seconds: float, connection: Connection | None = None) -> dict[str, Any]:
    """What the call's context is built from: the handles that its tool declares, and no others."""
    handles: dict[str, Any] = {
        "call_id": call.id,
        "tenant_id": call.tenant_id,
        "user_id": call.user_id,
        "run_id": call.run_id,
        "conversation_id": call.conversation_id,
        "seconds": seconds,
        "settings": registry().settings(tool.name),
    }
    if connection is not None and "notes" in tool.handles:
        handles["notes"] = NoteStore(connection, call.tenant_id, call.user_id)
    if connection is not None and "tasks" in tool.handles:
        handles["tasks"] = TaskStore(connection, call.tenant_id, call.user_id)
    if "http" in tool.handles:
        handles["http"] = _http()
    if "cache" in tool.handles:
        handles["cache"] = TenantCache(redis.client(), call.tenant_id)
    return handles


def _http() -> aiohttp.ClientSession:
    """This event loop's HTTP client, shared by all tools so that connections are kept."""
    loop = asyncio.get_running_loop()
    if loop not in _sessions:
        _sessions[loop] = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=512, limit_per_host=256), cookie_jar=aiohttp.DummyCookieJar()
        )
    return _sessions[loop]


async def close() -> None:
    """Close this event loop's HTTP client."""
    session = _sessions.pop(asyncio.get_running_loop(), None)
    if session is not None:
        await session.close()


def _worth_trying_again(tool: Tool, error: ToolError, call: ToolCall, execution: _Execution) -> bool:
    repeatable = tool.idempotent or tool.transactional
    return (
        isinstance(error, ToolTimeout)
        and repeatable
        and call.attempt < MAX_ATTEMPTS
        and execution.time_left(call) > BACK_OFF * 2**call.attempt
    )


def _success(result: ToolResult, began: float) -> Outcome:
    """The result as it is recorded; raises ToolError's fault as a crash when the output is no JSON."""
    try:
        output_hash = sha256_hex(result.output)
    except NotCanonical as error:
        raise TypeError(f"the tool's output is not JSON: {error}") from None
    text = orjson.dumps(result.output)
    output = result.output
    if len(text) > MAX_OUTPUT_BYTES:
        beginning = text[:MAX_OUTPUT_BYTES].decode("utf-8", "ignore")
        output = {"truncated": True, "original_bytes": len(text), "data": beginning}
    return Outcome(
        output=output,
        output_bytes=len(text),
        output_hash=output_hash,
        display=result.display[:1000],
        side_effects=[{"kind": each.kind, "id": each.id, "action": each.action} for each in result.artifacts],
        execution_time_ms=_since(began),
    )


def _failed(error: ToolError, began: float) -> Outcome:
    field = getattr(error, "field", None)
    failure = Failure(error.code, error.message[:2000], field)
    return Outcome(failure=failure, display=error.message[:1000], execution_time_ms=_since(began))


async def _settle(call: ToolCall, outcome: Outcome) -> None:
    if not await recorder.settle(None, call, outcome):
        log.warning("claim lost", extra={"call_id": str(call.id)})


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
