"""A loopback proxy that adds a key to each request: the conformance suite cannot send one."""

import asyncio
import contextlib
import re
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_OF_PROMPTS = re.compile(rb'"method": ?"prompts/get"|"ref/prompt"')
_PROMPT = re.compile(rb'("name": ?)"(test_)')
_NAME = re.compile(rb"(mcp-name: *)(test_)", re.IGNORECASE)


class Shim:
    """`with Shim(stack.url, key) as shim: … shim.url`; everything else is passed on as it is, also Host and Origin.

    Each connection carries one request: only its head is read here. With `service`, also its body: the suite's prompts
    are those of a service, whose name Toolgate puts before them.
    """

    def __init__(self, upstream: str, key: str, service: str = ""):
        self._service = service.encode()
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
        body = b""
        if self._service:
            head, body = await self._renamed(head, reader)
        lines = [line for line in head.split(b"\r\n")[:-2] if not line.lower().startswith(b"connection:")]
        lines += [b"Authorization: Bearer " + self._key.encode(), b"Connection: close"]
        there, back = await asyncio.open_connection(*self._upstream)
        back.write(b"\r\n".join(lines) + _HEAD_END + body)
        passing = [asyncio.create_task(_pass(reader, back)), asyncio.create_task(_pass(there, writer))]
        # A client that hangs up, and a server that has answered, end the other's connection too.
        await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        for task in passing:
            task.cancel()
        for side in (back, writer):
            side.close()

    async def _renamed(self, head: bytes, reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
        """The request with the service's name before the names of prompts, in its head and its body."""
        length = _LENGTH.search(head)
        body = await reader.readexactly(int(length[1])) if length else b""
        if length and _OF_PROMPTS.search(body):
            body = _PROMPT.sub(rb'\1"' + self._service + rb".\2", body)
            head = _NAME.sub(rb"\1" + self._service + rb".\2", head)
            head = _LENGTH.sub(b"content-length: %d" % len(body), head)
        return head, body


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
