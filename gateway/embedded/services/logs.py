"""An embedded service's log: a file that grows over starts, and its output since the last start."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gateway.embedded.processes import spawn

LARGEST = 10 * 1024 * 1024


class Log:
    """The file `path`, readable by its owner only; one past 10 MiB is set aside under `.1` first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists() and path.stat().st_size > LARGEST:
            path.replace(path.with_suffix(path.suffix + ".1"))
        self._start = 0

    def spawn(self, command: Sequence[str | Path], **options: Any) -> subprocess.Popen[bytes]:
        """Start `command` with its output going here; options as for processes.spawn."""
        with open(self.path, "ab", opener=_private) as output:
            self._start = output.tell()
            return spawn(command, stdout=output, stderr=output, **options)

    def text(self) -> str:
        """What was written since the last `spawn`."""
        with self.path.open("rb") as file:
            file.seek(self._start)
            return file.read(LARGEST).decode(errors="replace")

    def last_line(self) -> str:
        """The last line of `text`."""
        return last_line(self.text())


def last_line(text: str) -> str:
    """The last line of `text` that is not blank, or a text that says that there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
