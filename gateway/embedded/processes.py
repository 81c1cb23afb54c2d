"""Child processes that end with this one, and checks of processes that this one did not start."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LAUNCH = Path(__file__).with_name("launch.py")


@dataclass(frozen=True)
class Account:
    """The user a child runs as; `see_all`: it passes directories that are closed to that user."""

    uid: int
    gid: int
    see_all: bool = False


def launched(
    command: Sequence[str | Path], *, parent_death: signal.Signals = signal.SIGKILL, account: Account | None = None
) -> list[str]:
    """The command line that runs `command` (its first word an absolute path) so that it gets `parent_death` when the
    calling thread ends, on Linux; elsewhere nothing ends it, and `end_leftover` finds it at the next start."""
    options = ["--parent", str(os.getpid()), "--signal", str(int(parent_death))]
    if account is not None:
        options += ["--user", f"{account.uid}:{account.gid}", *(["--see-all"] if account.see_all else [])]
    return [sys.executable, "-I", "-S", str(LAUNCH), *options, "--", *map(str, command)]


def spawn(
    command: Sequence[str | Path],
    *,
    parent_death: signal.Signals = signal.SIGKILL,
    account: Account | None = None,
    **popen: Any,
) -> subprocess.Popen[bytes]:
    """Start `command` in a process group of its own, ended with the calling thread; `popen` as for subprocess.Popen."""
    arguments = launched(command, parent_death=parent_death, account=account)
    return subprocess.Popen(arguments, process_group=0, **{"stdin": subprocess.DEVNULL, **popen})


def command_line(pid: int) -> str:
    """The command line of a process, its words joined by spaces; empty when it has ended or is a zombie."""
    proc = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self").exists():
        try:
            return proc.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            return ""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "state=,command=", "-p", str(pid)], check=False, capture_output=True, text=True
    )
    state, _, command = listed.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else command.strip()


def wait_until(reached: Callable[[], bool], seconds: float, *, between: float = 0.02) -> bool:
    """Ask `reached` every `between` seconds until it is true or `seconds` have passed; its last answer."""
    deadline = time.monotonic() + seconds
    while not reached():
        if time.monotonic() >= deadline:
            return False
        time.sleep(between)
    return True


def end(process: subprocess.Popen[bytes], signals: Sequence[tuple[signal.Signals, float]]) -> None:
    """Send each signal and wait so many seconds for the end; then SIGKILL. Kills what is left of its group too."""
    for number, seconds in signals:
        if process.poll() is not None:
            break
        process.send_signal(number)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    kill_group(process.pid)
    process.wait()


def kill_group(leader: int) -> None:
    """SIGKILL to every process of the group that `leader` leads or led."""
    with suppress(ProcessLookupError, PermissionError):  # Nothing is left, or (macOS) only zombies.
        os.killpg(leader, signal.SIGKILL)


def end_leftover(pid: int, expected: str, signals: Sequence[tuple[signal.Signals, float]]) -> None:
    """End a process of an earlier run, if `pid` still is one: its command line must contain `expected`."""
    for number, seconds in (*signals, (signal.SIGKILL, 5.0)):
        if expected not in command_line(pid):
            return
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        wait_until(lambda: expected not in command_line(pid), seconds)
