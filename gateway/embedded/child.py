"""One process that the supervisor runs: started, read line by line, started again when it dies."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from gateway.embedded.processes import kill_group, spawn

LONGEST_LINE = 64 * 1024
# A process that lived this long had started well: the next start is immediate again.
SETTLED_SECONDS, LONGEST_WAIT = 10.0, 5.0


@dataclass(frozen=True)
class Command:
    """What to run as `name`: the words of the command line, its environment, and open files it inherits.

    `last`: it starts when the others are ready, so as not to compete with them for processor time.
    """

    name: str
    words: tuple[str, ...]
    environment: dict[str, str] = field(repr=False)
    inherited: tuple[int, ...] = ()
    last: bool = False


class Child:
    """A process of `command`, in `directory`; each line it writes goes to `on_line(name, line)`.

    With `on_result`, its standard output goes there, whole, when it ends, and only standard error is lines.
    """

    def __init__(
        self,
        command: Command,
        directory: Path,
        on_line: Callable[[str, bytes], None],
        on_result: Callable[[bytes], None] | None = None,
    ) -> None:
        self.command = command
        self.starts_at = 0.0
        self._directory, self._on_line, self._on_result = directory, on_line, on_result
        self._process: subprocess.Popen[bytes] | None = None
        self._pending: dict[IO[bytes], bytearray] = {}
        self._started = 0.0
        self._deaths = 0

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process else None

    @property
    def streams(self) -> list[IO[bytes]]:
        """What to wait for and then give to `read`."""
        return list(self._pending)

    def start(self) -> None:
        """Start the process."""
        separate = self._on_result is not None
        self._process = spawn(
            self.command.words,
            cwd=self._directory,
            env=self.command.environment,
            pass_fds=self.command.inherited,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if separate else subprocess.STDOUT,
        )
        self._started = time.monotonic()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._pending[stream] = bytearray()

    def read(self, stream: IO[bytes]) -> None:
        """Take what the process has written, without waiting for more."""
        pending = self._pending[stream]
        while True:
            try:
                data = os.read(stream.fileno(), LONGEST_LINE)
            except BlockingIOError:
                return
            pending += data
            if not self._is_result(stream):
                self._emit(pending, last=not data)
            if not data:
                self._close(stream)
                return

    def ended(self) -> int | None:
        """The return code when the process has ended since the last start, reaping it and its group; else None."""
        if self._process is None or (code := self._process.poll()) is None:
            return None
        kill_group(self._process.pid)
        for stream in self.streams:
            self.read(stream)
        for stream in self.streams:  # Somebody outside the group holds it open: not ours to wait for.
            self._close(stream)
        self._process = None
        self._deaths = 1 if time.monotonic() - self._started > SETTLED_SECONDS else self._deaths + 1
        self.starts_at = time.monotonic() + self.wait
        return code

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; SIGKILL goes to the whole group."""
        if self._process is not None and self._process.poll() is None:
            if number == signal.SIGKILL:
                kill_group(self._process.pid)
            else:
                self._process.send_signal(number)

    @property
    def wait(self) -> float:
        """Seconds from the last death to the next start: none after the first one, then doubling."""
        return 0.0 if self._deaths <= 1 else min(0.25 * 2.0 ** (self._deaths - 2), LONGEST_WAIT)

    def _is_result(self, stream: IO[bytes]) -> bool:
        return self._on_result is not None and self._process is not None and stream is self._process.stdout

    def _emit(self, pending: bytearray, *, last: bool) -> None:
        *lines, rest = pending.split(b"\n")
        if len(rest) >= LONGEST_LINE or (last and rest):
            lines.append(rest)
            rest = bytearray()
        for line in lines:
            self._on_line(self.command.name, bytes(line.rstrip(b"\r")))
        pending[:] = rest

    def _close(self, stream: IO[bytes]) -> None:
        pending = self._pending.pop(stream)
        if self._is_result(stream):
            assert self._on_result is not None
            self._on_result(bytes(pending))
        elif pending:
            self._emit(pending, last=True)
        stream.close()
