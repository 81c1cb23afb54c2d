"""A loopback proxy that adds a key to each request: the conformance suite cannot send one."""

import asyncio
import contextlib
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_HEAD_END = b"\r\n\r\n"


class Shim:
    """`with Shim(stack.url, key) as shim: … shim.url`; everything else is passed on as it is, also Host and Origin.

    Each connection carries one request: only its head is read here.
    """

    def __init__(self, upstream: str, key: str):
        address = urlsplit(upstream)
        self._upstream = (address.hostname, address.port)
        self._key = key
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"http://localhost:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work):  # type: ignore[no-untyped-def]
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _close(self) -> None:
        self._server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(_HEAD_END)
        except asyncio.IncompleteReadError:
            writer.close()
            return
        lines = [line for line in head.split(b"\r\n")[:-2] if not line.lower().startswith(b"connection:")]
        lines += [b"Authorization: Bearer " + self._key.encode(), b"Connection: close"]
        there, back = await asyncio.open_connection(*self._upstream)
        back.write(b"\r\n".join(lines) + _HEAD_END)
        passing = [asyncio.create_task(_pass(reader, back)), asyncio.create_task(_pass(there, writer))]
        # A client that hangs up, and a server that has answered, end the other's connection too.
        await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        for task in passing:
            task.cancel()
        for side in (back, writer):
            side.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
