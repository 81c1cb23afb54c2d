"""What really goes over the wire to PostgreSQL: a relay in front of it that counts round trips and reads statements.

Each application has a count of its own: connections say in their first message whose they are. What it does on another
login than the URL's, such as sealing beside the calls of a worker, is counted apart.
"""

import asyncio
import struct
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

# What they import declares the functions that are called.
import gateway.runs.lifecycle.beginning  # noqa: F401
import tools.invocation.in_worker.execution
import tools.invocation.invoke  # noqa: F401
from tenants.scope import functions

_SSL, _GSS, _CANCEL = 80877103, 80877104, 80877102


@dataclass
class Traffic:
    """What an application's connections have sent: their statements, in order, and how often they waited for an
    answer."""

    statements: list[str] = field(default_factory=list)
    round_trips: int = 0

    @property
    def commits(self) -> int:
        """Transactions that wrote, or were opened to: each COMMIT, and each function that writes, called alone."""
        writing = [name for name, each in functions.declared.items() if each.writes]
        ended, alone = 0, True
        for statement in self.statements:
            if statement.startswith("BEGIN"):
                alone = False
            elif statement in ("COMMIT", "ROLLBACK"):
                ended, alone = ended + (statement == "COMMIT"), True
            elif alone and any(f"FROM {name}(" in statement for name in writing):
                ended += 1
        return ended


class _Front:
    """The client's side of one connection: its messages, cut out of the stream."""

    def __init__(self, applications: dict[str, Traffic], ignored: tuple[str, ...], login: str):
        self._applications, self._ignored, self._login = applications, ignored, login
        self._name, self._buffer, self._started = "", b"", False
        self._prepared: dict[bytes, str] = {}
        self._counted = False

    def answered(self) -> None:
        """The server has answered: what is sent next is another round trip."""
        self._counted = False

    def sent(self, data: bytes) -> None:
        """Read what the client has sent."""
        self._buffer += data
        while (message := self._next()) is not None:
            kind, body = message
            statement = self._statement(kind, body)
            if statement is None:
                continue
            if any(name in statement for name in self._ignored):
                continue
            traffic = self._applications[self._name]
            if kind in (b"Q", b"B"):
                traffic.statements.append(statement)
            if not self._counted:
                self._counted = True
                traffic.round_trips += 1

    def _next(self) -> tuple[bytes, bytes] | None:
        head = 1 if self._started else 0
        if len(self._buffer) < head + 4:
            return None
        length = struct.unpack_from("!I", self._buffer, head)[0]
        if len(self._buffer) < head + length:
            return None
        kind, body = self._buffer[:head], self._buffer[head + 4 : head + length]
        self._buffer = self._buffer[head + length :]
        if not self._started:
            self._started = struct.unpack_from("!I", body)[0] not in (_SSL, _GSS, _CANCEL)
            words = body[4:].split(b"\0")
            given = dict(zip(words[::2], words[1::2], strict=False))
            name, user = given.get(b"application_name", b"").decode(), given.get(b"user", b"").decode()
            self._name = name if user == self._login else f"{name} as {user}"
            return b"", body
        return kind, body

    def _statement(self, kind: bytes, body: bytes) -> str | None:
        if kind == b"Q":
            return " ".join(body.rstrip(b"\0").decode().split())
        if kind == b"P":
            name, text, _ = body.split(b"\0", 2)
            self._prepared[name] = " ".join(text.decode().split())
            return self._prepared[name]
        if kind == b"B":
            return self._prepared[body.split(b"\0", 2)[1]]
        return None


@contextmanager
def relay(url: str, *ignored: str) -> Iterator[tuple[str, dict[str, Traffic]]]:
    """A URL that reaches the database of `url`, and the traffic over it by application; statements with `ignored` texts
    do not count.

    It runs on a thread of its own, for any number of processes.
    """
    parts, applications = urlsplit(url), defaultdict[str, Traffic](Traffic)
    loop = asyncio.new_event_loop()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(parts.hostname, parts.port)
        front = _Front(applications, ignored, parts.username or "")

        async def forth() -> None:
            while data := await reader.read(65536):
                front.sent(data)
                back.write(data)
            back.close()

        async def answers() -> None:
            while data := await there.read(65536):
                front.answered()
                writer.write(data)
            writer.close()

        with suppress(asyncio.CancelledError):
            await asyncio.gather(forth(), answers(), return_exceptions=True)

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    starting = asyncio.run_coroutine_threadsafe(asyncio.start_server(serve, "127.0.0.1", 0), loop)
    port = starting.result().sockets[0].getsockname()[1]
    try:
        yield urlunsplit(parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{port}")), applications
    finally:
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
