"""The supervisor's signals: SIGINT, SIGTERM and SIGHUP ask it to stop, SIGCHLD wakes it."""

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# One request may arrive twice: from the terminal's process group and from make.
SAME_REQUEST_SECONDS = 1.0


class Stopped(Exception):
    """A signal asked to stop while `interrupting` something that blocks."""


class Signals:
    """Installed between `install` and `restore`, in the main thread; wait for `descriptor` to be readable."""

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self._reading, self._writing = socket.socketpair()
        self._reading.setblocking(False)
        self._writing.setblocking(False)
        self._first = self._last = 0.0
        self._raises = False

    @property
    def descriptor(self) -> int:
        """Readable after a signal or a `wake`, until `clear`."""
        return self._reading.fileno()

    @property
    def stop_requested(self) -> bool:
        """Whether a signal asked to stop."""
        return self.exit_code is not None

    @property
    def impatient(self) -> bool:
        """Whether it was asked a second time, later."""
        return self._last - self._first > SAME_REQUEST_SECONDS

    def install(self) -> None:
        """Install the handlers."""
        for number in STOPPING:
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)

    def restore(self) -> None:
        """Restore the previous handlers."""
        signal.set_wakeup_fd(-1)
        for number in (*STOPPING, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._reading.close()
        self._writing.close()

    def wake(self) -> None:
        """Make the descriptor readable; from any thread."""
        with suppress(OSError):  # Full, so it is readable already; or closed, so nobody waits.
            self._writing.send(b"\0")

    def clear(self) -> None:
        """Forget what made the descriptor readable."""
        with suppress(BlockingIOError):
            while self._reading.recv(4096):
                pass

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Inside, a signal that asks to stop, or one that did before, raises Stopped."""
        self._raises = True
        try:
            if self.stop_requested:
                raise Stopped
            yield
        finally:
            self._raises = False

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        self._last = time.monotonic()
        if not self.stop_requested:
            self._first = self._last
            self.exit_code = 130 if number == signal.SIGINT else 0
        if self._raises:
            self._raises = False
            raise Stopped
