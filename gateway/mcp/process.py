"""What a web process has for `/mcp`: the SDK's session manager, made at the first request, in production at the start.

The SDK's import takes a second of a processor. It runs in a thread, so that other requests are answered meanwhile.
"""

import asyncio
import importlib
import logging
from typing import Any
from weakref import WeakKeyDictionary

log = logging.getLogger(__name__)


class Process:
    """One event loop's session manager."""

    def __init__(self) -> None:
        self._running: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Any] | None = None
        self._end = asyncio.Event()

    async def manager(self) -> Any:
        """The `gateway.mcp.server.Manager`, running."""
        return await asyncio.shield(self.prepare())

    def prepare(self) -> "asyncio.Future[Any]":
        """Begin to make it, without waiting for it."""
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._ready))
        return self._ready

    async def _run(self, ready: "asyncio.Future[Any]") -> None:
        """Enter and leave the manager in one task, as its task group asks for."""
        try:
            server = await asyncio.to_thread(importlib.import_module, "gateway.mcp.server")
            manager = server.make_manager()
            async with manager.run():
                ready.set_result(manager)
                await self._end.wait()
            await server.settled()
        except Exception as error:
            log.exception("MCP cannot be served")
            if not ready.done():
                ready.set_exception(error)
                self._ready = None

    async def close(self) -> None:
        """Leave the manager, whose requests then end."""
        self._end.set()
        if self._running is not None:
            await self._running


_processes: WeakKeyDictionary[asyncio.AbstractEventLoop, Process] = WeakKeyDictionary()


def process() -> Process:
    """The running event loop's."""
    return _processes.setdefault(asyncio.get_running_loop(), Process())
