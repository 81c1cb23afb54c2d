"""Processes that check slices side by side, each with a connection of its own to the same snapshot.

CannotVerify    a process has ended, or failed: nothing is known of its slices
"""

import multiprocessing
import os
import signal
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Self

import psycopg
from psycopg.rows import dict_row

from audit.checks.slices import Range, Slices
from audit.checks.snapshots import Snapshot

# What each process has to do while its results are not asked for.
AHEAD = 2
PATIENCE_SECONDS = 5.0


class CannotVerify(Exception):
    """A process that checked a part of the log has ended, or failed: nothing is known of that part."""


class Processes:
    """`with Processes(number, url)`: they are forked at once, so before there is any connection or thread."""

    def __init__(self, number: int, url: str) -> None:
        self._url = url
        context = multiprocessing.get_context("fork")
        self._connections: list[Connection] = []
        self._processes = []
        for _ in range(number):
            ours, theirs = context.Pipe()
            self._connections.append(ours)
            process = context.Process(target=_work, args=(theirs, list(self._connections)), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._connections:
            connection.close()
        for process in self._processes:
            process.join(PATIENCE_SECONDS)
            if process.exitcode is None:
                process.kill()
                process.join()

    @property
    def pids(self) -> list[int]:
        """The processes' ids."""
        return [process.pid for process in self._processes if process.pid is not None]

    def begin(self, snapshot: Snapshot) -> None:
        """Let them see what this snapshot sees, for as long as its transaction lasts."""
        shared = snapshot.share()
        for number in range(len(self._connections)):
            self._send(number, (self._url, shared))

    def checked(self, kind: str, ranges: Iterable[Range]) -> Iterator[Any]:
        """The parts of all slices, in order; raises CannotVerify."""
        asked: deque[int] = deque()
        for place, each in enumerate(ranges):
            number = place % len(self._connections)
            if len(asked) >= AHEAD * len(self._connections):
                yield from self._parts(asked.popleft())
            self._send(number, (kind, each))
            asked.append(number)
        while asked:
            yield from self._parts(asked.popleft())

    def _parts(self, number: int) -> Iterator[Any]:
        while True:
            try:
                part = self._connections[number].recv()
            except (EOFError, OSError):
                raise self._gone(number) from None
            if part is None:
                return
            if isinstance(part, str):
                raise CannotVerify(f"a part of the log could not be checked: {part}")
            yield part

    def _send(self, number: int, what: Any) -> None:
        try:
            self._connections[number].send(what)
        except OSError:
            raise self._gone(number) from None

    def _gone(self, number: int) -> CannotVerify:
        process = self._processes[number]
        process.join(PATIENCE_SECONDS)
        return CannotVerify(f"a process that checked a part of the log has ended (exit code {process.exitcode})")


def _work(connection: Connection, inherited: list[Connection]) -> None:
    """Check slices until nobody asks any more: for each its parts, then None; where it fails, the reason as text."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The other ends: as long as they are open here, nobody's end is seen.
    for each in inherited:
        each.close()
    try:
        url, shared = connection.recv()
        with (
            psycopg.connect(url, row_factory=dict_row) as database,
            Snapshot.of(database, shared) as snapshot,
        ):
            slices = Slices(snapshot.with_plain_ids())
            while True:
                kind, given = connection.recv()
                for part in slices.checked(kind, given):
                    connection.send(part)
                connection.send(None)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    except BaseException:
        with suppress(OSError):
            connection.send(traceback.format_exc())
    finally:
        # What this process has inherited is not its own to close or to flush.
        os._exit(0)
