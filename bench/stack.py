"""A whole Toolgate as `make up` runs it, in a directory of its own, with the fakes and the floors beside it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from gateway.embedded.commands import BEAT, OWNER, WEB, WORKER
from gateway.embedded.processes import end, spawn
from gateway.embedded.services import ports
from gateway.embedded.services.together import EmbeddedServices
from gateway.server import sockets

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 60
USERS = 20
# The server's and the worker's command lines are Toolgate's own, only what they run differs.
FLOOR_WEB = tuple(
    "bench.floors.view:application" if word == "gateway.config.asgi:application" else word for word in WEB
)
FLOOR_WORKER = tuple("bench.floors.task" if word == "gateway" else word for word in WORKER)


class Stack:
    """`with Stack() as stack`: ports by name ("web", "provider", "view"), pids by name, the members' API keys.

    Raises RuntimeError with the end of its log when a process dies or does not get ready.
    """

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="toolgate-bench-"))
        self.services = EmbeddedServices(self.directory / "data", durable=True)
        self.ports = {name: ports.choose(None) for name in ("web", "provider", "view")}
        self.keys: list[str] = []
        self.tenant = ""
        self.addresses: dict[str, str] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End everything and remove what it kept."""
        for process in reversed(self._processes.values()):
            end(process, [(signal.SIGTERM, 8.0)])
        self.services.__exit__(None, None, None)
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def pids(self) -> dict[str, int]:
        """The process id of each process, which leads a tree of its own."""
        return {name: process.pid for name, process in self._processes.items()} | dict(self.services.pids())

    def environment(self, process: str = "command") -> dict[str, str]:
        """What a process runs in; nothing of the developer's own settings reaches it."""
        upstream = f"http://127.0.0.1:{self.ports['provider']}"
        silenced = (
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "GEMINI_API_KEY",
            "GEMINI_BASE_URL",
            "BRAVE_API_KEY",
            "SERPAPI_API_KEY",
            "TOOLGATE_ALLOWED_TOOLS",
        )
        settings = {
            "TOOLGATE_ENV": "development",
            "TOOLGATE_DATA_DIR": str(self.directory / "toolgate"),
            "TOOLGATE_PROCESS": process,
            "OPENAI_API_KEY": "bench",
            "OPENAI_BASE_URL": f"{upstream}/v1",
            "SEARXNG_URL": upstream,
            "DEFAULT_MODEL": "openai/chat",
            "WEB_CONCURRENCY": "1",
            "WORKER_CONCURRENCY": "8",
            "RUN_LEASE_SECONDS": "15",
            "PYTHONWARNINGS": "ignore",
            "DJANGO_SETTINGS_MODULE": "gateway.config.settings",
        }
        known = os.environ | self.addresses | settings | dict.fromkeys(silenced, "")
        if process != "command":
            known.pop(OWNER, None)
        return known

    def output_of(self, *words: str, given: bytes = b"") -> Any:
        """The JSON that `python -m WORDS…` prints."""
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=ROOT,
            env=self.environment(),
            input=given,
            capture_output=True,
            check=False,
        )
        self._check()
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]} failed: {done.stderr.decode()[-3000:]}")
        return orjson.loads(done.stdout)

    def _start(self) -> None:
        self.services.__enter__()
        self.addresses = self.services.addresses()
        for command in (["setup_database"], ["migrate", "-v0", "--skip-checks"]):
            subprocess.run(
                [sys.executable, "manage.py", *command],
                cwd=ROOT,
                env=self.environment(),
                check=True,
                stdout=subprocess.DEVNULL,
            )
        made = self.output_of("bench.people", str(USERS))
        self.tenant, self.keys = made["tenant"], made["keys"]
        self._spawn("provider", "bench.upstream", str(self.ports["provider"]))
        # As `make up` does: the parent listens, and the web process inherits the socket.
        with sockets.listen("127.0.0.1", self.ports["web"]) as listening:
            descriptor = listening.fileno()
            self._spawn("web", *WEB, "--fd", str(descriptor), "--no-proxy-headers", inherited=(descriptor,))
        self._spawn("worker", *WORKER, "--concurrency", "8")
        self._spawn("beat", *BEAT, "--schedule", str(self.directory / "beat-schedule"))
        self._spawn("view", *FLOOR_WEB, "--port", str(self.ports["view"]), "--no-proxy-headers", "--lifespan", "off")
        self._spawn("task", *FLOOR_WORKER, "--concurrency", "8")
        self._wait("web", "/readyz")
        self._wait("view", "/")

    def _spawn(self, name: str, *words: str, inherited: tuple[int, ...] = ()) -> None:
        with (self.directory / f"{name}.log").open("ab") as log:
            self._processes[name] = spawn(
                [sys.executable, "-m", *words],
                cwd=ROOT,
                env=self.environment(name),
                stdout=log,
                stderr=log,
                pass_fds=inherited,
            )

    def _wait(self, name: str, path: str) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[name]}{path}", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
            self._check()
        raise RuntimeError(f"{name} is not ready: {self.log(name)} {self.log('worker')}")

    def _check(self) -> None:
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise RuntimeError(f"{name} died ({process.returncode}): {self.log(name)}")

    def log(self, name: str) -> str:
        """The end of what a process has written."""
        return (self.directory / f"{name}.log").read_text(errors="replace")[-3000:]
