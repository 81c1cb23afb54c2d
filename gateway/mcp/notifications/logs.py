"""Log messages of a call's tool, on the stream of the request that made it, as far as its client wants them."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import LoggingMessageNotification, LoggingMessageNotificationParams
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from gateway.mcp import exchange
from gateway.mcp.notifications import levels
from gateway.runs.watching.wakeups import waits
from tools.invocation.live.logs import LEVELS, Logged

# Where a client of 2026-07-28 says which it wants.
_OF_REQUEST = "io.modelcontextprotocol/logLevel"


@asynccontextmanager
async def passing_on(context: ServerRequestContext[Any, Any], call_id: uuid.UUID) -> AsyncIterator[None]:
    """Pass on what the call's tool says inside; on leaving, all of it that has come is sent."""
    latest: list[Logged] = []
    sent = 0, 0
    wanted: frozenset[str] | None = None
    sending: asyncio.Task[None] | None = None

    async def send() -> None:
        nonlocal sent, wanted
        if wanted is None:
            wanted = await _wanted(context)
        while latest:
            said = latest.pop()
            if said.fence > sent[0]:
                # The tool is executed again.
                sent = said.fence, 0
            while said.fence == sent[0] and sent[1] < len(said.messages):
                level, logger, data = said.messages[sent[1]]
                sent = said.fence, sent[1] + 1
                if level in wanted:
                    await _send(context, level, logger, data)

    def read(said: Logged) -> None:
        nonlocal sending
        latest[:] = [said]
        if sending is None or sending.done():
            sending = asyncio.get_running_loop().create_task(send())

    with waits().reading_logs(call_id, read):
        try:
            yield
        except BaseException:
            if sending is not None:
                sending.cancel()
            raise
        if sending is not None:
            await sending


async def _wanted(context: ServerRequestContext[Any, Any]) -> frozenset[str]:
    if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        return await levels.wanted(exchange.of(context))
    said: dict[str, Any] = dict(context.meta or {})
    level = said.get(_OF_REQUEST)
    return frozenset(LEVELS[LEVELS.index(level) :]) if level in LEVELS else frozenset()


async def _send(context: ServerRequestContext[Any, Any], level: str, logger: str | None, data: Any) -> None:
    params = LoggingMessageNotificationParams.model_validate({"level": level, "logger": logger, "data": data})
    await context.session.send_notification(LoggingMessageNotification(params=params), context.request_id)
