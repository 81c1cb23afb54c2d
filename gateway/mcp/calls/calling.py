"""`tools/call`: a call without a chat, by its user's own rights, and what becomes of it when its client does not wait.

    it ends soon              the result
    it asks its user          what `gateway.mcp.asking.inputs` says
    it waits for a human,     a task, where the client has declared that it knows tasks; else an error that says so, and
    or takes longer           the same arguments are the same call until its result was handed over
    the client hangs up       a call that nobody has begun is cancelled; any other ends by itself, and is recorded

Which rights count: those of the member whose key it is. No agent limits them, as for a call over REST.
"""

import asyncio
import logging
import time
import uuid
from contextlib import nullcontext, suppress
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from approvals.rows import AskedQuestion
from audit.calls.rows import ToolCall
from audit.models import Origin, Status
from gateway.mcp import exchange, results
from gateway.mcp.asking import inputs
from gateway.mcp.asking.responses import take_all
from gateway.mcp.calls import inflight, tasks
from gateway.mcp.calls.progress import Reporter
from gateway.mcp.exchange import Exchange
from gateway.mcp.notifications import logs
from tools.gates.checks.allowlist import UNKNOWN
from tools.invocation import invoke
from tools.invocation.invoke import Begun

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
# How long a call is waited for whose client can have a task.
TASK_SECONDS = 1.0
_cancelling: set["asyncio.Task[None]"] = set()


async def call_tool(context: Context, params: CallToolRequestParams) -> dict[str, Any]:
    """Call a tool, and wait for it. Raises MCPError for a name that no tool has; the attempt is recorded."""
    as_task = tasks.declared(context)
    under_way = exchange.of(context)
    begun = await _begun_or_resumed(context, under_way, params, resumes=not as_task)
    reporter = Reporter(context)
    sent = params.request_state is None and not begun.resumed and under_way.looked is None
    call = await _awaited(context, begun.call, under_way, TASK_SECONDS if as_task else None, reporter, sent=sent)
    questions: list[AskedQuestion] = []
    if call.asks_user:
        call, questions = await _asking(context, call, under_way, inputs.responses_of(params), reporter)
        shown = inputs.askable(questions, inputs.declared(context))
        if shown and context.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return inputs.required(call, shown)
    if call.final:
        if begun.resumed or (call.approval_id is not None and not as_task):
            await invoke.handed_over(under_way.tenant_scope, call)
        return {**results.COMPLETE, **results.of(call)}
    if as_task:
        return tasks.created(call)
    if call.approval_id is None and not begun.resumed:
        await invoke.hand_over_later(under_way.tenant_scope, call)
    return {**results.COMPLETE, **results.waiting(call, [each for each in questions if each.status == "pending"])}


async def _begun_or_resumed(
    context: Context, under_way: Exchange, params: CallToolRequestParams, *, resumes: bool
) -> Begun:
    if params.request_state is None:
        return await _begun(under_way, params, resumes=resumes)
    return Begun(await inputs.resumed(context, params), False)


async def _asking(
    context: Context, call: ToolCall, under_way: Exchange, responses: dict[str, Any], reporter: Reporter
) -> tuple[ToolCall, list[AskedQuestion]]:
    """Have the client asked as far as it can be, and go on with what is answered; the call then, and what it asks."""
    caller, known = under_way.tenant_scope, inputs.declared(context)
    old = context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    said: set[uuid.UUID] = set()
    until = time.monotonic() + inputs.STREAM_SECONDS
    while call.asks_user:
        questions = await inputs.asked(caller, call)
        if (error := inputs.demand(questions, known)) is not None:
            await invoke.cancel(caller, call.id)
            raise error
        if responses:
            await take_all(caller, questions, responses)
            responses = {}
            continue
        left: float | None = None
        if any(each.status == "pending" for each in questions):
            shown = inputs.askable(questions, known)
            left = until - time.monotonic()
            if not shown or not old or left <= 0:
                return call, questions
            await inputs.ask_on_stream(context, shown, said)
        fence = call.fence
        call = await _awaited(context, call, under_way, left, reporter, answered=fence)
        if call.asks_user and call.fence == fence:
            return call, questions
    return call, []


async def begin_task(context: Context, params: CallToolRequestParams) -> dict[str, Any]:
    """Call a tool as a task of the revision 2025-11-25: the answer is the task, whatever becomes of the call."""
    begun = await _begun(exchange.of(context), params, resumes=False)
    return {"task": tasks.state_2025(begun.call)}


def begin(under_way: Exchange, name: str, arguments: dict[str, Any], *, resumes: bool) -> "asyncio.Task[Begun]":
    """Begin to record a call of the client's; what `tools.invocation.invoke.begin` says."""
    beginning = invoke.begin(under_way.tenant_scope, name, arguments, origin=Origin.MCP, resumes=resumes)
    return asyncio.create_task(beginning, name="mcp call")


async def _begun(under_way: Exchange, params: CallToolRequestParams, *, resumes: bool) -> Begun:
    """Record the call, unless that is done; whoever hangs up meanwhile has it cancelled once it is recorded."""
    beginning = under_way.beginning or begin(under_way, params.name, params.arguments or {}, resumes=resumes)
    try:
        begun = await asyncio.shield(beginning)
    except asyncio.CancelledError:
        if under_way.gone:
            cancel_later(under_way, beginning)
        raise
    if under_way.looked is not None:
        begun = Begun(under_way.looked, begun.resumed)
    if begun.call.decision[0].get("log") == UNKNOWN:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:100]}", {results.META: results.about(begun.call)})
    return begun


async def _awaited(
    context: Context,
    call: ToolCall,
    under_way: Exchange,
    wait: float | None,
    reporter: Reporter,
    *,
    answered: int | None = None,
    sent: bool = False,
) -> ToolCall:
    """The call once it is final, asks its user, or its client need not wait for it any longer; `answered` as in
    `invoke.until_rest`, and so is a call that was `sent`."""
    if call.final or (wait is not None and call.status == Status.AWAITING_APPROVAL):
        await reporter.look(call)
        return call
    old = context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    names = old and not under_way.known
    known = inflight.known(under_way, context.request_id, call.id) if names else nullcontext()
    try:
        async with known, logs.passing_on(context, call.id):
            with reporter.hearing(call.id):
                return await invoke.until_rest(
                    under_way.tenant_scope,
                    call.id,
                    wait,
                    reporter.look,
                    answered=answered,
                    sent=call if sent else None,
                )
    except asyncio.CancelledError:
        # Not when it is this process that ends: the client asks another one.
        if under_way.gone:
            cancel_later(under_way, call)
        raise


def cancel_later(under_way: Exchange, what: "ToolCall | asyncio.Task[Begun]") -> None:
    """Cancel a call, once it is recorded, although its request is over.

    A failure is only logged, and the call then runs or expires by itself.
    """
    task = asyncio.get_running_loop().create_task(_cancel(under_way, what))
    _cancelling.add(task)
    task.add_done_callback(_ended)


async def _cancel(under_way: Exchange, what: "ToolCall | asyncio.Task[Begun]") -> None:
    with suppress(LookupError):
        call = what if isinstance(what, ToolCall) else (await what).call
        if not call.final:
            await invoke.cancel(under_way.tenant_scope, call.id)


def _ended(task: "asyncio.Task[None]") -> None:
    _cancelling.discard(task)
    if not task.cancelled() and task.exception() is not None:
        log.warning("call not cancelled", exc_info=task.exception())


async def settled() -> None:
    """Return when what clients that hung up had wanted to be cancelled has been."""
    if _cancelling:
        await asyncio.wait(_cancelling)
