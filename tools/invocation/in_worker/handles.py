"""What a tool's context is built from: the handles that it declares, and no others."""

import asyncio
from functools import partial
from typing import Any

import aiohttp

from audit.calls.rows import ToolCall
from tenants.scope.transactions import Connection, TenantScope
from tools.files import FileStore
from tools.interface import Tool
from tools.invocation import ports
from tools.network import redis
from tools.network.cache import TenantCache
from tools.settings import fetch_hosts
from tools.stores import CanvasStore, MemoryStore, NoteStore, TaskStore

_sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}


def of(tool: Tool, call: ToolCall, connection: Connection | None) -> dict[str, Any]:
    """The arguments of `ToolContext` for a call, but for those that only its execution knows.

    `connection` is that of the call's transaction, which only a transactional tool has.
    """
    handles: dict[str, Any] = {
        "call_id": call.id,
        "tenant_id": call.tenant_id,
        "user_id": call.user_id,
        "run_id": call.run_id,
        "conversation_id": call.conversation_id,
    }
    if connection is not None and "notes" in tool.handles:
        handles["notes"] = NoteStore(connection, call.tenant_id, call.user_id, call.conversation_id)
    if connection is not None and "tasks" in tool.handles:
        handles["tasks"] = TaskStore(connection, call.tenant_id, call.user_id, call.conversation_id)
    if connection is not None and call.run_id is not None and "children" in tool.handles:
        handles["children"] = ports.children().of_call(connection, call)
    if connection is not None and "schedules" in tool.handles:
        handles["schedules"] = ports.schedules(connection, call)
    if connection is not None and "files" in tool.handles and call.conversation_id is not None:
        handles["files"] = FileStore(connection, call.tenant_id, call.user_id, call.conversation_id, call.id)
    if connection is not None and "memories" in tool.handles:
        handles["memories"] = MemoryStore(
            connection, call_id=call.id, conversation_id=call.conversation_id, agent=call.agent
        )
    if connection is not None and "messages" in tool.handles:
        handles["messages"] = ports.notifications().messages(connection, call)
    if connection is not None and "reminders" in tool.handles:
        handles["reminders"] = ports.notifications().reminders(connection, call)
    if connection is not None and call.conversation_id is not None and "canvas" in tool.handles:
        handles["canvas"] = CanvasStore(connection, call.tenant_id, call.user_id, call.conversation_id, call.id)
    if connection is not None and "sessions" in tool.handles:
        handles["sessions"] = ports.children().sessions(connection, call)
    if "http" in tool.handles:
        handles["http"] = _http()
    if "fetch_hosts" in tool.handles:
        handles["fetch_hosts"] = partial(fetch_hosts.of, TenantScope(call.tenant_id, call.user_id))
    if "tools" in tool.handles:
        handles["tools"] = ports.callers_tools(TenantScope(call.tenant_id, call.user_id), call.run_id)
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
