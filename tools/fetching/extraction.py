"""The main text of an HTML page, found by processes of their own: a page that is built to take for ever takes one of
them, for a few seconds, and then it is ended."""

import asyncio
import json
import subprocess
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from weakref import WeakValueDictionary

from django.conf import settings

from tools.errors import ToolCallRejected, ToolUnavailable
from tools.fetching.extractor import READY

# Processes of a worker, and how long a page may take.
PROCESSES = 2
SECONDS = 6.0
START_SECONDS = 15.0
MOST_CHARACTERS = 100_000
_MOST_ANSWER = 16 * 1024 * 1024

_threads = ThreadPoolExecutor(PROCESSES, thread_name_prefix="extraction")
_own = threading.local()
# Each tenant has one page at a time looked at, so that no tenant has all the processes.
_turns: WeakValueDictionary[uuid.UUID, asyncio.Lock] = WeakValueDictionary()


@dataclass(frozen=True, slots=True)
class Extracted:
    """A page's title and main text; not `whole` where that was cut."""

    title: str
    text: str
    whole: bool


class TookTooLong(ToolCallRejected):
    """The page is built so that its text cannot be found in time."""


class _Gone(Exception):
    """The process has ended: it was idle, or the page was too much for it."""


class _Extractor:
    """One process, seen from the worker; for one thread."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tools.fetching.extractor", str(theirs.fileno()), str(MOST_CHARACTERS)],
                cwd=settings.BASE_DIR,
                # None of the worker's: they hold its secrets.
                env={"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"},
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        if _next(self._connection, START_SECONDS) != READY:
            self.end()
            raise ToolUnavailable("The text of pages cannot be found at the moment. Nothing was returned; try later.")

    def extract(self, page: bytes) -> bytes | None:
        """Its answer; None when it takes too long. Raises _Gone."""
        try:
            self._connection.send_bytes(page)
        except OSError:
            raise _Gone from None
        return _next(self._connection, SECONDS)

    def end(self) -> None:
        """End it at once."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


def _next(connection: Connection, seconds: float) -> bytes | None:
    """What the process says next; None when it says nothing in time. Raises _Gone."""
    try:
        return connection.recv_bytes(_MOST_ANSWER) if connection.poll(seconds) else None
    except (EOFError, OSError):
        raise _Gone from None


async def extract(tenant_id: uuid.UUID, page: str) -> Extracted:
    """The page's main text, off the event loop. Raises ToolCallRejected and ToolUnavailable."""
    turn = _turns.setdefault(tenant_id, asyncio.Lock())
    async with turn:
        return await asyncio.get_running_loop().run_in_executor(_threads, _extracted, page.encode())


def _extracted(page: bytes) -> Extracted:
    for again in (True, False):
        fresh = getattr(_own, "extractor", None) is None
        try:
            extractor = _own.extractor = _Extractor() if fresh else _own.extractor
            answer = extractor.extract(page)
            break
        except _Gone:
            _end()
            # One that was idle for long has ended by itself.
            if fresh or not again:
                raise ToolCallRejected("The page is built so that its text cannot be found.") from None
    if answer is None:
        _end()
        raise TookTooLong(f"The page is built so that its text cannot be found within {SECONDS:g} seconds.")
    found = json.loads(answer)
    if found is None:
        raise ToolCallRejected("The page is built so that its text cannot be found.")
    return Extracted(found["title"], found["text"], found["whole"])


def _end() -> None:
    extractor, _own.extractor = getattr(_own, "extractor", None), None
    if extractor is not None:
        extractor.end()
