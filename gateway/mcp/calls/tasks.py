"""Tool calls as tasks: in 2026-07-28 of the extension `io.modelcontextprotocol/tasks`, in 2025-11-25 of the core.

A task is a call over MCP, and its id the call's: it lasts as long as the history does, in any process. A client of
2026-07-28 that has declared the extension gets a task where its call waits for a human, or runs for long; one of
2025-11-25 asks for a task by `params.task`. A call that waits for an approval is `working`: it is not this client that
is asked for input; one that waits for an answer of its own user is `input_required`.
"""

import uuid
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CancelTaskRequestParams,
    GetTaskRequestParams,
    InputResponses,
    PaginatedRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from audit.calls import reading
from audit.calls.rows import ToolCall
from audit.models import ErrorCode, Origin, Status
from gateway.mcp import exchange, results
from gateway.mcp.asking import inputs
from gateway.mcp.asking.responses import take_all
from tenants.scope.transactions import transaction
from tools.invocation import invoke

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
POLL_MS = 2_000
PAGE = 50
# For how long `tasks/result` waits for a call to end.
MOST_SECONDS = 24 * 3600.0

Context = ServerRequestContext[Any, Any]


class UpdateTaskParams(GetTaskRequestParams):
    """The params of `tasks/update`."""

    input_responses: InputResponses | None = None


_Answer = dict[str, Any]


def modern(context: Context) -> bool:
    """Whether tasks are an extension in the request's revision."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def declared(context: Context) -> bool:
    """Whether this request may be answered by a task of the extension."""
    capabilities = context.session.client_capabilities
    return modern(context) and capabilities is not None and EXTENSION in (capabilities.extensions or {})


def created(call: ToolCall) -> _Answer:
    """`CreateTaskResult` of the extension."""
    return {"resultType": "task", **_state(call, "ttlMs", "pollIntervalMs")}


def state_2025(call: ToolCall) -> _Answer:
    """A task of 2025-11-25, where a call that failed is a task that failed."""
    state = _state(call, "ttl", "pollInterval")
    if state["status"] == "completed" and call.status == Status.ERROR:
        state["status"] = "failed"
    return state


async def get(context: Context, params: GetTaskRequestParams) -> _Answer:
    """`tasks/get`: how far the call is; of a final one in 2026-07-28 also its result."""
    if not modern(context):
        return state_2025(await _found(context, params.task_id))
    _check(context, params.task_id)
    call = await _found(context, params.task_id)
    state = _state(call, "ttlMs", "pollIntervalMs")
    if state["status"] == "input_required":
        asked = await inputs.asked(exchange.of(context).tenant_scope, call)
        state["inputRequests"] = inputs.requests(inputs.askable(asked, inputs.declared(context)))
    return {**state, "result": results.of(call)} if state["status"] == "completed" else state


async def update(context: Context, params: UpdateTaskParams) -> _Answer:
    """`tasks/update`: answers to what the task's call asks; others are passed over."""
    _check(context, params.task_id)
    call = await _found(context, params.task_id)
    if call.asks_user:
        caller = exchange.of(context).tenant_scope
        await take_all(caller, await inputs.asked(caller, call), inputs.responses_of(params))
    return {}


async def cancel(context: Context, params: CancelTaskRequestParams) -> _Answer:
    """`tasks/cancel`: a call that nobody has begun ends; one that runs ends by itself, and what is final stays."""
    if modern(context):
        _check(context, params.task_id)
    call = await _found(context, params.task_id)
    if call.final and not modern(context):
        raise MCPError(INVALID_PARAMS, "The task has ended; it cannot be cancelled.")
    call = await invoke.cancel(exchange.of(context).tenant_scope, call.id)
    return {} if modern(context) else state_2025(call)


async def result(context: Context, params: GetTaskRequestParams) -> _Answer:
    """`tasks/result` of 2025-11-25: the call's result, once it is final."""
    call = await _found(context, params.task_id)
    if not call.final:
        call = await invoke.until_rest(exchange.of(context).tenant_scope, call.id, MOST_SECONDS)
    answer = results.of(call) if call.final else results.waiting(call)
    return {**answer, "_meta": {**answer["_meta"], RELATED: {"taskId": str(call.id)}}}


async def list_2025(context: Context, params: PaginatedRequestParams) -> _Answer:
    """`tasks/list` of 2025-11-25: the user's calls over MCP, the newest first."""
    before = None if params.cursor is None else _id(params.cursor, "The cursor is none that Toolgate gave.")
    scope = exchange.of(context).tenant_scope
    async with transaction(scope) as connection:
        found = await reading.alone(connection, scope.user_id, Origin.MCP, PAGE + 1, before)
    answer: _Answer = {"tasks": [state_2025(call) for call in found[:PAGE]]}
    if len(found) > PAGE:
        answer["nextCursor"] = str(found[PAGE - 1].id)
    return answer


def _check(context: Context, task_id: str) -> None:
    """Raise MCPError unless the request declares the extension, and its header names the task."""
    if not declared(context):
        required: _Answer = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"This needs the extension {EXTENSION}.", required)
    if context.request is not None and context.request.headers.get("mcp-name") != task_id:
        raise MCPError(HEADER_MISMATCH, "The header Mcp-Name must be the params' taskId.")


async def _found(context: Context, task_id: str) -> ToolCall:
    """The user's call over MCP of this id; another's is as unknown as none."""
    unknown = f"There is no task {task_id[:100]!r}."
    call_id = _id(task_id, unknown)
    scope = exchange.of(context).tenant_scope
    async with transaction(scope) as connection:
        call = await reading.one(connection, call_id, scope.user_id)
    if call is None or call.run_id is not None or call.origin != Origin.MCP:
        raise MCPError(INVALID_PARAMS, unknown)
    return call


def _id(text: str, problem: str) -> uuid.UUID:
    try:
        found = uuid.UUID(text)
    except ValueError:
        raise MCPError(INVALID_PARAMS, problem) from None
    if str(found) != text:
        raise MCPError(INVALID_PARAMS, problem)
    return found


def _state(call: ToolCall, ttl: str, poll_interval: str) -> _Answer:
    times = (call.created_at, call.queued_at, call.started_at, call.finished_at)
    return {
        "taskId": str(call.id),
        "status": _status(call),
        "statusMessage": _words(call),
        "createdAt": call.created_at.isoformat(),
        "lastUpdatedAt": max(time for time in times if time is not None).isoformat(),
        ttl: None,
        poll_interval: POLL_MS,
    }


def _status(call: ToolCall) -> str:
    if call.asks_user:
        return "input_required"
    if not call.final:
        return "working"
    return "cancelled" if call.error_code == ErrorCode.CANCELLED else "completed"


def _words(call: ToolCall) -> str:
    if call.status == Status.AWAITING_APPROVAL:
        return f"{call.tool_name} waits for a human: approval {call.approval_id}."
    if call.asks_user:
        return f"{call.tool_name} waits for an answer of its user."
    if not call.final:
        begun = call.started_at is not None
        return f"{call.tool_name} runs." if begun else f"{call.tool_name} waits for a worker."
    return (call.error_message or call.display)[:500]
