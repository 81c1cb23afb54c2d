"""The supervisor's standard output: whole lines of several processes, that never block it."""

import os
import select
import time

MOST_BYTES = 1024 * 1024
COLOURS = {"web": 36, "worker": 33, "beat": 35, "setup": 34}
NAME_WIDTH = 6


class Output:
    """Writes to the open file `descriptor`; when nobody reads it, the oldest bytes past 1 MiB are lost."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._colour = os.isatty(descriptor) and not os.environ.get("NO_COLOR")
        self._waiting = bytearray()
        self._closed = False

    @property
    def waits_for(self) -> list[int]:
        """The descriptor, while there is output to write."""
        return [self._descriptor] if self._waiting and not self._closed else []

    def line(self, text: str) -> None:
        """Write one line of the supervisor."""
        self._add(text.encode() + b"\n")

    def line_of(self, name: str, line: bytes) -> None:
        """Write one line of the process `name`, with its prefix."""
        prefix = f"{name:<{NAME_WIDTH}} | ".encode()
        if self._colour:
            prefix = b"\x1b[%dm%b\x1b[0m" % (COLOURS.get(name, 37), prefix)
        self._add(prefix + line + b"\n")

    def write(self) -> None:
        """Write as much as possible without blocking."""
        while self.waits_for and select.select([], [self._descriptor], [], 0)[1]:
            try:  # A pipe that is writable takes PIPE_BUF bytes without blocking.
                written = os.write(self._descriptor, self._waiting[: select.PIPE_BUF])
            except OSError:
                self._closed = True  # The reader has gone; the processes continue without it.
            else:
                del self._waiting[:written]

    def drain(self, seconds: float) -> None:
        """Write everything, for at most `seconds`."""
        deadline = time.monotonic() + seconds
        while self.waits_for and (left := deadline - time.monotonic()) > 0:
            select.select([], [self._descriptor], [], left)
            self.write()

    def _add(self, line: bytes) -> None:
        if not self._closed:
            self._waiting += line
            del self._waiting[: max(0, len(self._waiting) - MOST_BYTES)]
            self.write()
