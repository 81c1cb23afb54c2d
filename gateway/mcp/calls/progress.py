"""How far a call is, for the progress token of its request."""

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server.context import ServerRequestContext

from audit.calls.rows import ToolCall
from audit.models import Status
from gateway.runs.watching.wakeups import waits
from tools.invocation.live.progress import Progress

# What a progress token is told, of 1, where the tool says nothing.
_RUNNING = "running"
_STAGES = ((0.0, "recorded"), (0.01, _RUNNING), (1.0, "ended"))


class Reporter:
    """Tells the request's progress token, if it has one, how far the call is: each stage once, and between them what
    its tool says, as far as it increases."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self._context = context
        self._reached = -1.0
        self._name = ""
        self._stage = 0
        self._spoke = False

    async def look(self, call: ToolCall) -> None:
        """At the call's row."""
        begun = call.status == Status.RUNNING or call.started_at is not None
        self._name = call.tool_name
        await self._reach(3 if call.final else 2 if begun else 1, begun=begun, final=call.final)

    async def _reach(self, stage: int, *, begun: bool, final: bool) -> None:
        while self._stage < stage:
            value, words = _STAGES[self._stage]
            self._stage += 1
            if words == _RUNNING and not begun:
                # It was refused, or cancelled before anybody took it.
                continue
            # What the tool said last is its own end.
            if not self._spoke or not final:
                await self._say(value, 1.0, f"{self._name}: {words}")

    async def pass_on(self, said: Progress) -> None:
        """What the tool says."""
        self._spoke = True
        await self._say(said.progress, said.total, said.message)

    async def _say(self, progress: float, total: float | None, message: str | None) -> None:
        if progress > self._reached:
            self._reached = progress
            await self._context.session.report_progress(progress, total, message)

    @contextmanager
    def hearing(self, call_id: uuid.UUID) -> Iterator[None]:
        """Pass on what the call's tool says inside, and before it that it has begun."""
        latest: list[Progress] = []
        began = False
        sending: asyncio.Task[None] | None = None

        async def send() -> None:
            if began:
                await self._reach(2, begun=True, final=False)
            while latest:
                await self.pass_on(latest.pop())

        def hear(said: Progress) -> None:
            nonlocal sending, began
            if said.began:
                began = True
            else:
                latest[:] = [said]
            if sending is None or sending.done():
                sending = asyncio.get_running_loop().create_task(send())

        try:
            with waits().hearing(call_id, hear):
                yield
        finally:
            if sending is not None:
                sending.cancel()
