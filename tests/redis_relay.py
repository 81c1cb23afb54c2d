"""A relay in front of Redis, to take it away or to have its connections fall silent."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit


class Relay:
    """In front of Redis, over TLS if so: `cut` its connections, `silence` them for ever, or `close` it."""

    def __init__(self) -> None:
        self._open: set[asyncio.StreamWriter] = set()
        self._silent: set[asyncio.StreamWriter] = set()
        self.url = ""

    async def start(self, url: str, tls: ssl.SSLContext | None) -> None:
        """Listen in front of the server at `url`."""
        parts = urlsplit(url)
        self._target = parts.hostname, parts.port
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0, ssl=tls)
        user, at, _ = parts.netloc.rpartition("@")
        host = f"{user}{at}localhost:{self._server.sockets[0].getsockname()[1]}"
        self.url = urlunsplit(parts._replace(scheme="rediss" if tls else "redis", netloc=host))

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        both = {writer, far_writer}
        self._open |= both
        await asyncio.gather(self._copy(reader, far_writer), self._copy(far_reader, writer))
        self._open -= both

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                if writer not in self._silent:
                    writer.write(data)
        writer.close()

    def cut(self) -> None:
        """Break every connection; new ones are taken."""
        for each in self._open:
            each.transport.abort()

    def silence(self) -> None:
        """Pass on nothing more over the connections of now, and leave them open; new ones are served."""
        self._silent |= self._open

    def close(self) -> None:
        """Be away."""
        self._server.close()
        self.cut()


@asynccontextmanager
async def relay(url: str, tls: ssl.SSLContext | None = None) -> AsyncIterator[Relay]:
    """A relay to the server at `url`."""
    between = Relay()
    await between.start(url, tls)
    try:
        yield between
    finally:
        between.close()
