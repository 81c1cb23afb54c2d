"""The data directory of one running Toolgate: locked by its holder, private, with the generated passwords."""

import fcntl
import json
import os
import secrets
from pathlib import Path
from typing import Any

from gateway.embedded.errors import DataDirectoryInUse, EmbeddedError
from gateway.embedded.processes import wait_until
from tenants.scope import private_files

PASSWORDS = ("postgres_superuser", "postgres_owner", "postgres_app", "valkey")
# How long a start waits for a holder that is stopping, and for one that was just asked to stop.
STOPPING_SECONDS, RUNNING_SECONDS = 30.0, 2.0


class DataDirectory:
    """`path` and everything below it; `claim` before use, `release` after."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._lock: int | None = None

    def claim(self) -> None:
        """Create the directory and lock it until `release` or the end of this process.

        Raises DataDirectoryInUse when another process holds it, EmbeddedError when it cannot be written.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise EmbeddedError(
                f"the data directory {self.path} cannot be used ({error.strerror}); "
                "run as the user who owns it, or set TOOLGATE_DATA_DIR"
            ) from None
        if not wait_until(self._locked, RUNNING_SECONDS) and not (
            self._holder()[1] == "stopping" and wait_until(self._locked, STOPPING_SECONDS)
        ):
            pid = self._holder()[0]
            self.release()
            raise DataDirectoryInUse(
                f"process {pid} runs Toolgate in {self.path} already; "
                "stop it, or set TOOLGATE_DATA_DIR and PORT for a second one"
            )
        self._announce("running")

    def release(self) -> None:
        """Release the directory."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def stopping(self) -> None:
        """Tell a start that waits for this directory that it will be free soon."""
        self._announce("stopping")

    def write(self, name: str, value: Any) -> None:
        """Replace the file `name` by `value` as JSON in one step, readable by its owner only."""
        with private_files.replacing(self.path / name) as file:
            file.write(f"{json.dumps(value, indent=2)}\n".encode())

    def read(self, name: str) -> dict[str, Any]:
        """The JSON object in the file `name`; empty when there is none or it is not one."""
        try:
            value = json.loads((self.path / name).read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def remove(self, name: str) -> None:
        """Remove the file `name` if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def passwords(self) -> dict[str, str]:
        """The services' passwords, made at the first call and stored in secrets.json."""
        known = self.read("secrets.json")
        missing = {name: secrets.token_urlsafe(24) for name in PASSWORDS if name not in known}
        if missing:
            known |= missing
            self.write("secrets.json", known)
        return known

    def _locked(self) -> bool:
        assert self._lock is not None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _announce(self, state: str) -> None:
        assert self._lock is not None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()} {state}\n".encode(), 0)

    def _holder(self) -> tuple[str, str]:
        assert self._lock is not None
        pid, _, state = os.pread(self._lock, 100, 0).decode().strip().partition(" ")
        return pid or "?", state
