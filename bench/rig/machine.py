"""What a process tree has used and what the machine is, read from /proc (Linux)."""

import json
import os
import platform
import time
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
MIB = 1024 * 1024


def _fields(pid: int) -> list[str]:
    """/proc/PID/stat after the name, which may hold anything; raises FileNotFoundError."""
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def tree(root: int) -> list[int]:
    """The process and its living descendants."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                children.setdefault(int(_fields(int(entry.name))[1]), []).append(int(entry.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def cpu_seconds(root: int) -> float:
    """User and system time of a process tree, children that have ended included; 10 ms fine."""
    ticks = 0
    for pid in tree(root):
        try:
            ticks += sum(int(value) for value in _fields(pid)[11:15])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return ticks / TICKS


def running_seconds(root: int) -> float:
    """What the living threads of a process tree have run, to the microsecond; for processes that end nothing."""
    nanoseconds = 0
    for pid in tree(root):
        with suppress(FileNotFoundError, ProcessLookupError):
            for thread in (PROC / str(pid) / "task").iterdir():
                with suppress(FileNotFoundError, ProcessLookupError):
                    nanoseconds += int((thread / "schedstat").read_text().split()[0])
    return nanoseconds / 1e9


def listener(port: int) -> int | None:
    """The process that listens at this port of this machine, the eldest of several; None when it cannot be found."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        lines = (PROC / "net" / table).read_text().splitlines()[1:]
        for fields in map(str.split, lines):
            # Field 3 is the state, and 0A means that it listens.
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    for pid in sorted(int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()):
        if not inodes.isdisjoint(_opened(pid)):
            return pid
    return None


def _opened(pid: int) -> list[str]:
    found = []
    with suppress(OSError):
        for opened in (PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                found.append(os.readlink(opened))
    return found


def memory(root: int) -> dict[str, float]:
    """RSS and PSS of a process tree in MiB; PSS counts a page that n processes share as 1/n."""
    resident = shared_out = 0.0
    for pid in tree(root):
        try:
            resident += int((PROC / str(pid) / "statm").read_text().split()[1]) * PAGE / MIB
            lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        shared_out += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return {"rss_mib": round(resident, 1), "pss_mib": round(shared_out, 1)}


def busy_seconds() -> float:
    """CPU time that the whole machine has spent on anything since it started."""
    values = [int(value) for value in (PROC / "stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(values) - values[3] - values[4]) / TICKS


def yardstick_ms() -> float:
    """CPU milliseconds for a fixed piece of Python; more than usual says that neighbours slow this machine down."""
    began = time.process_time()
    text = json.dumps(list(range(1000)))
    for _ in range(200):
        json.loads(text)
    return 1000 * (time.process_time() - began)


def description() -> dict[str, str | int]:
    """The machine and its Python, for the head of the report."""
    models = [line for line in (PROC / "cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "cores": len(os.sched_getaffinity(0)),
        "cpu": models[0].partition(":")[2].strip() if models else platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
