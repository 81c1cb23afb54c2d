"""A supervisor in a process of its own, and the lines it writes."""

import json
import queue
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.embedded.processes import command_line, wait_until
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[3]
PEOPLE = {"demo": {"alice": {"password": "secret of alice", "api_key": "tg_alice"}}}
SEEDS = f"print({json.dumps(json.dumps({'tenants': PEOPLE}))})"
PATIENCE = PATIENCE_SECONDS


class Running:
    """One supervisor; `lines` is what it has written to standard output so far."""

    def __init__(self, data_dir: Path, *options: str, port: int = 0, setup: str = SEEDS) -> None:
        self.data_dir = data_dir
        self.lines: list[str] = []
        self._arriving: queue.Queue[str] = queue.Queue()
        command = [sys.executable, "-m", "tests.gateway.embedded.stand_in", str(data_dir), str(port), setup, *options]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def line(self, wanted: Callable[[str], bool]) -> str:
        """The next line that is wanted."""
        while True:
            line = self._arriving.get(timeout=PATIENCE)
            self.lines.append(line)
            if wanted(line):
                return line

    def ready(self) -> str:
        """Its URL, once it says that it is ready."""
        return self.line(lambda line: line.startswith("ready ")).removeprefix("ready ")

    def demo(self) -> dict[str, Any]:
        """demo.json."""
        return dict(json.loads((self.data_dir / "demo.json").read_bytes()))

    def pid(self, name: str) -> int:
        """The only process of that name, as demo.json has it."""
        (pid,) = self.demo()["pids"][name]
        return int(pid)

    def exited(self) -> tuple[int, str]:
        """(exit code, standard error) once it has ended."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        while not self._arriving.empty():
            self.lines.append(self._arriving.get())
        assert self.process.stderr is not None
        return code, self.process.stderr.read()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._arriving.put(line.rstrip("\n"))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start a supervisor in tmp_path/var (or `data_dir`); what still runs at the end is killed."""
    started: list[Running] = []

    def start(*options: str, data_dir: Path = tmp_path / "var", **named: Any) -> Running:
        started.append(Running(data_dir, *options, **named))
        return started[-1]

    yield start
    for running in started:
        running.process.kill()
        running.exited()
        for stream in (running.process.stdout, running.process.stderr):
            assert stream is not None
            stream.close()


def answer(url: str) -> dict[str, Any]:
    """What the stand-in web process says about itself."""
    with urllib.request.urlopen(url, timeout=PATIENCE) as response:
        return dict(json.load(response))


def is_gone(pid: int) -> bool:
    """Whether the process has ended, in time."""
    return wait_until(lambda: not command_line(pid), PATIENCE)
