"""Runs one claimed call in the worker, and records what became of it.

    transactional tools   claim │ start + effect + success in one commit: a lost worker leaves "claimed", and no effect
    all others            claim + start │ effect │ settle: a lost worker leaves "running", and the sweeper decides

What is retried: a timeout of an idempotent tool, with back-off, within the call's own time limit. Late
workers change nothing, because every write carries the fence of the claim.
"""

import asyncio
import logging
import random
import time
import traceback
import uuid
from typing import Any

import aiohttp
import orjson
import psycopg
from django.conf import settings

from audit.calls import recorder
from audit.calls.recorder import Failure, Outcome
from audit.calls.rows import ToolCall
from audit.canonical import NotCanonical, sha256_hex
from tenants.scope.transactions import Connection, TenantScope, transaction
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


class _ClaimLost(Exception):
    """Another worker or the sweeper took the call meanwhile."""


async def execute(tenant_id: uuid.UUID, user_id: uuid.UUID, call_id: uuid.UUID) -> None:
    """Run a queued call to its end, whatever its tool does; without effect when somebody else has it."""
    scope = TenantScope(tenant_id, user_id)
    deadline: float | None = None
    while (claimed := await _claim(scope, call_id)) is not None:
        call, tool = claimed
        with leases.held(call_id, call.fence):
            deadline = deadline or time.monotonic() + call.time_limit_ms / 1000
            again = await _attempt(scope, call, tool, deadline)
        if not again:
            await wakeups.publish(call.wake_up_id)
            return
        await asyncio.sleep(BACK_OFF * 2 ** (call.attempt - 1) * random.uniform(0.5, 1))


async def _claim(scope: TenantScope, call_id: uuid.UUID) -> tuple[ToolCall, Tool | None] | None:
    async with transaction(scope) as connection:
        call = await recorder.claim(connection, call_id, settings.RUN_LEASE_SECONDS)
        if call is not None:
            tool = await lookup.of_call(connection, call.tool_name)
            if tool is not None and not tool.transactional:
                call = await recorder.start(connection, call)
    if call is None:
        return None
    if tool is not None and not tool.transactional:
        await wakeups.publish(call.wake_up_id)
    return call, tool


async def _attempt(scope: TenantScope, call: ToolCall, tool: Tool | None, deadline: float) -> bool:
    """One attempt, settled; True when the call went back to the queue to be tried again."""
    if tool is None:
        gone = Failure("unavailable", f"The tool {call.tool_name} is not installed any more; tell the operator.")
        await _settle(scope, call, Outcome(failure=gone, display=gone.message))
        return False
    guarded = (scope.tenant_id, tool.name)
    if not tool.transactional and not circuits.lets_through(*guarded):
        resting = Failure(
            "unavailable",
            f"{tool.name} has failed several times in a row for this tenant and is not called for "
            f"{OPEN_SECONDS:g} seconds. Nothing was called. Try again after that; if it goes on, tell the operator.",
        )
        await _settle(scope, call, Outcome(failure=resting, display=resting.message))
        return False
    began = time.monotonic()
    try:
        if tool.transactional:
            await _effect_and_success(scope, call, tool, deadline)
        else:
            result = await _run(tool, call, deadline, ToolContext(**_handles(tool, call, deadline)))
            await _settle(scope, call, _success(result, began))
        circuits.succeeded(*guarded)
    except _ClaimLost:
        log.warning("claim lost", extra={"call_id": str(call.id)})
    except ToolError as raised:
        error = registry().settings(tool.name).cleaned(raised)
        # What is wrong with the call itself says nothing about the tool.
        if not isinstance(error, ToolValidationError | ToolPermissionDenied | ToolCallRejected):
            circuits.failed(*guarded)
        if _worth_trying_again(tool, error, call, deadline):
            async with transaction(scope) as connection:
                return await recorder.requeue(connection, call.id, call.fence)
        await _settle(scope, call, _failed(error, began))
    except psycopg.OperationalError:
        # The database is away: nothing can be recorded, so the lease runs out and the sweeper decides.
        raise
    except Exception:
        # A fault of the tool's author: recorded for the user without its details, which go to the log.
        trace = registry().settings(tool.name).without_secrets(traceback.format_exc())
        log.error("tool crashed\n%s", trace, extra={"tool": tool.name, "call_id": str(call.id)})
        circuits.failed(*guarded)
        crashed = Failure("execution_error", f"{tool.name} failed unexpectedly; the operator finds why in the log.")
        await _settle(scope, call, Outcome(failure=crashed, display=crashed.message, execution_time_ms=_since(began)))
    return False


async def _effect_and_success(scope: TenantScope, call: ToolCall, tool: Tool, deadline: float) -> None:
    began = time.monotonic()
    async with transaction(scope) as connection:
        started = await recorder.start(connection, call)
        if started is None:
            raise _ClaimLost
        result = await _run(tool, call, deadline, ToolContext(**_handles(tool, call, deadline, connection)))
        if not await recorder.settle(connection, started, _success(result, began)):
            raise _ClaimLost


async def _run(tool: Tool, call: ToolCall, deadline: float, context: ToolContext) -> ToolResult:
    try:
        async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
            return await tool.execute(call.arguments, context)
    except TimeoutError:
        limit = call.time_limit_ms / 1000
        raise ToolTimeout(f"{tool.name} did not answer within {limit:g} seconds.", limit) from None


def _handles(tool: Tool, call: ToolCall, deadline: float, connection: Connection | None = None) -> dict[str, Any]:
    """What the call's context is built from: the handles that its tool declares, and no others."""
    handles: dict[str, Any] = {
        "call_id": call.id,
        "tenant_id": call.tenant_id,
        "user_id": call.user_id,
        "run_id": call.run_id,
        "conversation_id": call.conversation_id,
        "seconds": max(0.0, deadline - time.monotonic()),
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


def _worth_trying_again(tool: Tool, error: ToolError, call: ToolCall, deadline: float) -> bool:
    repeatable = tool.idempotent or tool.transactional
    return (
        isinstance(error, ToolTimeout)
        and repeatable
        and call.attempt < MAX_ATTEMPTS
        and deadline - time.monotonic() > BACK_OFF * 2**call.attempt
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


async def _settle(scope: TenantScope, call: ToolCall, outcome: Outcome) -> None:
    async with transaction(scope) as connection:
        if not await recorder.settle(connection, call, outcome):
            log.warning("claim lost", extra={"call_id": str(call.id)})


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
