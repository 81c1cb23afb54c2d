"""A process that writes long downloads, so that the web process keeps its event loop to itself.

Formatting rows takes a core for as long as a download lasts. In a thread of the web process, every step of every chat
would wait for that thread; a process of its own, with a lower priority, takes only what chats leave. It is started for
the first long download, serves all of them in turn, a batch at a time, and ends a while after the last one, or with the
web process, whatever became of that.
"""

import os
import signal
import subprocess
import sys
import threading
import traceback
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from django.conf import settings

IDLE_SECONDS = 60.0
PATIENCE_SECONDS = 5.0
LOWER_PRIORITY = 10


class ExportFailed(Exception):
    """The process could not write a batch, or has died; what was sent of the file is not all of it."""


class ExportProcess:
    """The process, seen from the web process; for any number of threads."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._lock = threading.Lock()
        self._idle_seconds = idle_seconds
        self._connection: Connection | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._timer: threading.Timer | None = None

    @property
    def pid(self) -> int | None:
        """The process id, while there is one."""
        return None if self._process is None else self._process.pid

    def next_batch(self, wanted: Any) -> Any:
        """The Batch that was Wanted; blocks until it is written, and those that others asked for before. Raises
        ExportFailed."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            try:
                connection = self._connection or self._start()
                connection.send(wanted)
                answer = connection.recv()
            except (OSError, EOFError) as error:
                self._end()
                raise ExportFailed(f"the process that writes downloads is gone: {error!r}") from error
            self._timer = threading.Timer(self._idle_seconds, self.end)
            self._timer.daemon = True
            self._timer.start()
        if isinstance(answer, str):
            raise ExportFailed(answer)
        return answer

    def end(self) -> None:
        """End the process, once it has written what it is writing."""
        with self._lock:
            self._end()

    def _start(self) -> Connection:
        ours, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "audit.history.exports.process", str(theirs.fileno())],
                cwd=settings.BASE_DIR,
                env=os.environ | {"TOOLGATE_PROCESS": "export"},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._connection = ours
        return ours

    def _end(self) -> None:
        if self._connection is not None:
            # It reads the end of the connection, and exits.
            self._connection.close()
        if self._process is not None:
            try:
                self._process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._connection = self._process = None


def main() -> None:
    """Answer each Wanted with its Batch, or with what went wrong as text, until the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(LOWER_PRIORITY)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.config.settings")
    import django

    django.setup()
    connection = Connection(int(sys.argv[1]))
    while True:
        try:
            wanted = connection.recv()
        except (EOFError, OSError):
            return
        try:
            connection.send(_answer(wanted))
        except OSError:
            return


def _answer(wanted: Any) -> Any:
    """The Batch; where a connection that was kept has ended meanwhile, by another one."""
    from django.db import InterfaceError, OperationalError, connections

    from audit.history.exports import batches

    was_kept = connections["export"].connection is not None
    try:
        try:
            return batches.next_batch(wanted)
        except (OperationalError, InterfaceError):
            batches.release()
            if not was_kept:
                raise
            return batches.next_batch(wanted)
    except Exception:
        batches.release()
        return traceback.format_exc()


if __name__ == "__main__":
    main()
