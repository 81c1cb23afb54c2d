"""The SDK's server with Toolgate's handlers, and the session manager that serves both eras of the protocol by it."""

import asyncio
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    METHOD_NOT_FOUND,
    CallToolRequestParams,
    CancelTaskRequestParams,
    GetTaskRequestParams,
    PaginatedRequestParams,
    ServerCapabilities,
    ServerTasksCapability,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from gateway.http.asgi import Request
from gateway.http.errors import refusal_of
from gateway.mcp import exchange, offers, tools
from gateway.mcp.calls import calling, direct, tasks
from gateway.mcp.errors import body
from gateway.mcp.exchange import Exchange
from gateway.mcp.messages import Message
from gateway.mcp.notifications import levels, listening, subscriptions
from tenants.people import owners

# For how long a client may show a list without asking again. A right that went is refused at the call.
TTL_MS = 60_000
# The revision in which tasks are of the core, and which of their methods it has; those of the extension.
_TASKS_IN_CORE = "2025-11-25"
_IN_CORE = frozenset({"tasks/get", "tasks/cancel", "tasks/result", "tasks/list"})
_IN_EXTENSION = frozenset({"tasks/get", "tasks/cancel", "tasks/update"})
_LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover")
# What is read says by itself how old it is.
_HINTS = {method: CacheHint(TTL_MS, "private") for method in _LISTS} | {"resources/read": CacheHint(0, "private")}
INSTRUCTIONS = (
    "Every call passes Toolgate's gates and is recorded. A call that a human has to approve is answered by a task, or "
    "by an error with the approval's id; after the approval, the same arguments get its result."
)


_handling: set["asyncio.Future[HandlerResult]"] = set()


class ToolgateServer(Server[dict[str, Any]]):
    """Declares tasks as each era has them."""

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> ServerCapabilities:
        """What the server does in this revision; None: in one that begins with `initialize`."""
        found = super().get_capabilities(
            notification_options, experimental_capabilities, extensions, protocol_version=protocol_version
        )
        if protocol_version in MODERN_PROTOCOL_VERSIONS:
            return found.model_copy(update={"extensions": {tasks.EXTENSION: {}}})
        declared: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        in_core = ServerTasksCapability.model_validate(declared)
        return found.model_copy(update={"extensions": None, "tasks": in_core})


class Manager(StreamableHTTPSessionManager):
    """The SDK's, which answers what `gateway.mcp.calls.direct` leaves to it."""

    def __init__(self, server: ToolgateServer) -> None:
        super().__init__(app=server, stateless=True, max_request_body_size=settings.TOOLGATE_MAX_BODY_BYTES)
        self._server_info = server.server_info_stamp

    async def answered(
        self, request: Request, lines: list[tuple[bytes, bytes]], message: Message, under_way: Exchange
    ) -> bool:
        """As `gateway.mcp.calls.direct.answer`."""
        return await direct.answer(request, lines, message, under_way, self._server_info)


def make_manager() -> Manager:
    """A session manager, to be run once; who asks, from which host and origin, has been checked before it is asked."""
    return Manager(make_server())


def make_server() -> ToolgateServer:
    """The server with all its handlers."""
    server = ToolgateServer(
        "toolgate",
        version="1",
        title="Toolgate",
        instructions=INSTRUCTIONS,
        cache_hints=_HINTS,  # type: ignore[arg-type]
        get_tool_input_schema=tools.input_schema,
        on_list_tools=tools.list_tools,  # type: ignore[arg-type]
        on_call_tool=calling.call_tool,  # type: ignore[arg-type]
        on_list_prompts=offers.list_prompts,  # type: ignore[arg-type]
        on_get_prompt=offers.get_prompt,  # type: ignore[arg-type]
        on_list_resources=offers.list_resources,  # type: ignore[arg-type]
        on_list_resource_templates=offers.list_resource_templates,  # type: ignore[arg-type]
        on_read_resource=offers.read_resource,  # type: ignore[arg-type]
        on_completion=offers.complete,  # type: ignore[arg-type]
        on_subscriptions_listen=listening.listen,
    )
    # Not the SDK's own, which makes a span of every message that nothing here would export.
    server.middleware[:] = [apart, refusing, _tasks_by_era]
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, levels.set_level)
    server.add_request_handler("resources/subscribe", SubscribeRequestParams, subscriptions.subscribe)
    server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, subscriptions.unsubscribe)
    server.add_request_handler("tasks/get", GetTaskRequestParams, tasks.get)
    server.add_request_handler("tasks/cancel", CancelTaskRequestParams, tasks.cancel)
    server.add_request_handler("tasks/update", tasks.UpdateTaskParams, tasks.update)
    server.add_request_handler("tasks/result", GetTaskRequestParams, tasks.result)
    server.add_request_handler("tasks/list", PaginatedRequestParams, tasks.list_2025)
    return server


async def apart(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Handle a request in a task of its own, which is cancelled once when the request is.

    The SDK's cancellation interrupts every wait again until its scope has been left: whoever holds a connection of the
    database could not give it back.
    """
    task = asyncio.ensure_future(call_next(ctx))
    _handling.add(task)
    task.add_done_callback(_handling.discard)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        raise


async def settled() -> None:
    """Return when requests that were cancelled have ended, and so has what their clients wanted to be cancelled."""
    if _handling:
        await asyncio.wait(_handling)
    await calling.settled()


async def refusing(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer what ends a request as every API does, with its words and code and none of its details."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as error:
        refused = refusal_of(error)
        words = await owners.named(exchange.of(ctx).principal, refused.detail)
        content = body(refused.status, refused.code, words)["error"]
        raise MCPError(content["code"], content["message"], content["data"]) from None


async def _tasks_by_era(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Keep each revision's tasks to it, and answer a call that is to be a task of 2025-11-25.

    The SDK would take that answer for a result of `tools/call` that is not valid, so it is given in front of it.
    """
    revision = ctx.protocol_version
    if ctx.method.startswith("tasks/"):
        served = _IN_EXTENSION if tasks.modern(ctx) else _IN_CORE if revision == _TASKS_IN_CORE else frozenset()
        if ctx.method not in served:
            raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
    params = ctx.params or {}
    if ctx.method == "tools/call" and revision == _TASKS_IN_CORE and isinstance(params.get("task"), Mapping):
        return await calling.begin_task(ctx, CallToolRequestParams.model_validate(params, by_name=False))
    return await call_next(ctx)
