"""Runs one queued call in the worker, and records what became of it.

    transactional tools   lock + effect + settle in one commit: a lost worker leaves "queued", and no effect
    all others            claim │ effect │ settle: a lost worker leaves "running", and the sweeper decides
    one that asks         claim │ execution │ ask: the call waits for its user, and no worker has it; answered, it is
                          queued, and executed again with the answers
    one that begins a run lock + run + wait in one commit: nobody has the call until its run ends, which settles it
    one that searches     lock │ the vector of the words │ lock + effect + settle: where searches are by meaning, too

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
from dataclasses import dataclass, field

import psycopg
from django.conf import settings

from audit.calls import begun
from audit.calls.recorder import Outcome
from audit.calls.rows import ToolCall
from audit.models import Origin
from tenants.scope.transactions import Connection, TenantScope
from tools.errors import (
    ToolCallRejected,
    ToolError,
    ToolPermissionDenied,
    ToolTimeout,
    ToolUnavailable,
    ToolValidationError,
)
from tools.interface import Tool, ToolContext, ToolResult
from tools.invocation import lookup, ports
from tools.invocation.in_worker import asking, handles, outcomes
from tools.invocation.live import logs, progress, wakeups
from tools.invocation.live.circuit import circuits
from tools.invocation.live.leases import leases
from tools.questions import InputRequired
from tools.registry import registry
from tools.stores import Meaning
from tools.waiting import WaitsForMeaning, WaitsForRun

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
BACK_OFF = 0.5


@dataclass(slots=True)
class _Execution:
    """A call on its way to its end; `deadline` is set when its first attempt begins, and holds for all of them. `began`
    is the run that it waits for."""

    scope: TenantScope
    call_id: uuid.UUID
    deadline: float | None = None
    began: uuid.UUID | None = None
    # What has something to do after the commit of the last attempt.
    handle: ports.AfterCommit | None = None
    # What was searched for, with its vector, once that was asked for.
    meanings: dict[str, Meaning | None] = field(default_factory=dict)

    def meaning_of(self, words: str) -> Meaning | None:
        """The handle `meaning`. Raises WaitsForMeaning."""
        if words not in self.meanings:
            raise WaitsForMeaning(words)
        return self.meanings[words]

    def time_left(self, call: ToolCall) -> float:
        """Seconds that the attempts of the call may still take."""
        now = time.monotonic()
        if self.deadline is None:
            self.deadline = now + call.time_limit_ms / 1000
        return max(0.0, self.deadline - now)


async def execute(
    tenant_id: uuid.UUID, user_id: uuid.UUID, call_id: uuid.UUID, *, claims: bool = True
) -> uuid.UUID | None:
    """Run a queued call to its end, whatever its tool does; without effect when somebody else has it. The id of the run
    that it began, if it waits for one.

    Unless it `claims`, that a transactional tool's call has begun is committed with its effect, and not before.
    """
    execution = _Execution(TenantScope(tenant_id, user_id), call_id)
    while True:
        tried = await _claimed(execution) if claims else await _at_once(execution)
        if tried is None:
            return None
        call, again = tried
        if not again:
            await wakeups.publish(call.wake_up_id)
            if execution.handle is not None:
                await execution.handle.committed()
            return execution.began
        await asyncio.sleep(BACK_OFF * 2 ** (call.attempt - 1) * random.uniform(0.5, 1))


async def _claimed(execution: _Execution) -> tuple[ToolCall, bool] | None:
    """One attempt, of which everybody knows while it lasts: the call, and whether it is to be tried again."""
    scope = execution.scope
    call = await begun.claim(None, scope, execution.call_id, settings.RUN_LEASE_SECONDS)
    if call is None:
        return None
    if (refused := outcomes.stopped(call)) is not None:
        await _settle(call, refused)
        return call, False
    with leases.held(call.id, call.fence):
        tool = await lookup.in_scope(scope, call.tool_name)
        if tool is not None and tool.transactional:
            return await _at_once(execution, call.fence)
        await (progress.begun(call) if call.run_id is None else wakeups.publish(call.wake_up_id))
        if tool is None:
            await _settle(call, outcomes.gone(call))
        elif not circuits.lets_through(scope.tenant_id, tool.name):
            await _settle(call, outcomes.resting(tool))
        else:
            began = time.monotonic()
            try:
                result = await _run(tool, call, execution, None)
                await _settle(call, outcomes.success(call, tool, result, began))
            except InputRequired as required:
                await _ask(call, tool, required, began)
            except Exception as error:
                return call, await _fail(execution, call, tool, error, began)
            circuits.succeeded(scope.tenant_id, tool.name)
        return call, False


async def _at_once(execution: _Execution, fence: int | None = None) -> tuple[ToolCall, bool] | None:
    """One attempt of a transactional tool, in one transaction, of a queued call or of one that is claimed: the call,
    and whether it is to be tried again."""
    tenant_id = execution.scope.tenant_id
    sought: str | None = None
    async with begun.locked(execution.scope, execution.call_id, fence, settings.RUN_LEASE_SECONDS) as held:
        if held is None:
            return None
        call, tool = held.call, registry().get(held.call.tool_name)
        if (refused := outcomes.stopped(call)) is not None:
            await held.settle(refused)
            return call, False
        if tool is not None and tool.transactional:
            began = time.monotonic()
            try:
                result = await _run(tool, call, execution, held.connection)
                await held.settle(outcomes.success(call, tool, result, began))
                circuits.succeeded(tenant_id, tool.name)
                return call, False
            except WaitsForRun as waits:
                await held.wait(waits.run_id)
                execution.began = waits.run_id
                return call, False
            except WaitsForMeaning as waits_for:
                # Nothing has happened yet, and nobody has the call until it is locked again.
                sought = waits_for.words
            except Exception as error:
                if held.connection.closed and not isinstance(error, ToolError):
                    # Nothing of it has happened, or all of it: the sweeper finds out.
                    raise
                failed = error
    if sought is not None:
        execution.meanings[sought] = await ports.meanings().of(execution.scope, sought)
        return await _at_once(execution, fence)
    if tool is None or not tool.transactional:
        # It was installed otherwise where its message was sent from.
        return await _claimed(execution) if fence is None else None
    return call, await _fail(execution, call, tool, failed, began)


async def _fail(execution: _Execution, call: ToolCall, tool: Tool, raised: Exception, began: float) -> bool:
    """Settle what went wrong, or give the call back to the queue: whether it is to be tried again."""
    guarded = (execution.scope.tenant_id, tool.name)
    if isinstance(raised, ToolError):
        error = registry().settings(tool.name).cleaned(raised)
        # What is wrong with the call itself, or with what it needs first, says nothing about the tool.
        if not isinstance(error, ToolValidationError | ToolPermissionDenied | ToolCallRejected | ToolUnavailable):
            circuits.failed(*guarded)
        if _worth_trying_again(tool, error, call, execution):
            return await begun.requeue(None, call)
        await _settle(call, outcomes.failed(call, tool, error, began))
        return False
    if isinstance(raised, psycopg.OperationalError):
        # The database is away: nothing can be recorded, so the lease runs out and the sweeper decides.
        raise raised
    # A fault of the tool's author: recorded for the user without its details, which go to the log.
    trace = registry().settings(tool.name).without_secrets("".join(traceback.format_exception(raised)))
    log.error("tool crashed\n%s", trace, extra={"tool": tool.name, "call_id": str(call.id)})
    circuits.failed(*guarded)
    await _settle(call, outcomes.crashed(tool, began))
    return False


async def _ask(call: ToolCall, tool: Tool, required: InputRequired, began: float) -> None:
    """Let the call wait for its user; one that asks for what nobody can be asked has failed."""
    try:
        asked = asking.checked(tool.name, required, of_client=call.origin == Origin.MCP)
    except ToolError as error:
        await _settle(call, outcomes.failed(call, tool, error, began))
    else:
        await ports.questions().ask(call, tool.binding, asked)


async def _run(tool: Tool, call: ToolCall, execution: _Execution, connection: Connection | None) -> ToolResult:
    given = handles.of(tool, call, connection)
    given |= {"seconds": execution.time_left(call), "settings": registry().settings(tool.name)}
    if connection is not None and "meaning" in tool.handles and ports.meanings().configured():
        given["meaning"] = execution.meaning_of
    execution.handle = given.get("messages")
    # The first execution of a call has the first fence.
    if (
        connection is None
        and call.fence > 1
        and (answered := await ports.questions().answered(execution.scope, call.id))
    ):
        given |= {"answers": answered.answers, "state": answered.state}
    seconds = execution.time_left(call)
    try:
        with progress.reporting(call) as given["report"]:
            async with logs.logging_of(call, heard=connection is None) as given["log"], asyncio.timeout(seconds):
                return await tool.execute(call.arguments, ToolContext(**given))
    except TimeoutError:
        limit = call.time_limit_ms / 1000
        raise ToolTimeout(f"{tool.name} did not answer within {limit:g} seconds.", limit) from None


def _worth_trying_again(tool: Tool, error: ToolError, call: ToolCall, execution: _Execution) -> bool:
    repeatable = tool.idempotent or tool.transactional
    return (
        isinstance(error, ToolTimeout)
        and repeatable
        and call.attempt < MAX_ATTEMPTS
        and execution.time_left(call) > BACK_OFF * 2**call.attempt
    )


async def _settle(call: ToolCall, outcome: Outcome) -> None:
    if not await begun.settle(None, call, outcome):
        log.warning("claim lost", extra={"call_id": str(call.id)})
