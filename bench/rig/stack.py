"""A whole Toolgate as `make up` runs it, in a directory of its own, with the fakes and the floors beside it.

Its processes are those that `gateway.embedded.commands.processes` makes for `make up`: their command lines, their
environment, and the listening socket that web processes inherit.
"""

import itertools
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

from gateway.embedded import commands
from gateway.embedded.child import Command
from gateway.embedded.commands import OWNER, WEB, WORKER
from gateway.embedded.configuration import Configuration
from gateway.embedded.processes import end, spawn
from gateway.embedded.services import ports
from gateway.embedded.services.together import EmbeddedServices
from gateway.server import sockets

ROOT = Path(__file__).resolve().parent.parent.parent
READY_SECONDS = 60
USERS = 20
WORKER_CONCURRENCY = 8
# Settings of the developer's own that would change what is measured.
SILENCED = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "GEMINI_API_KEY", "GEMINI_BASE_URL"),
    *("BRAVE_API_KEY", "SERPAPI_API_KEY", "TOOLGATE_ALLOWED_TOOLS"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"),
)
# The server's and the worker's command lines are Toolgate's own, only what they run differs.
FLOOR_WEB = tuple(
    "bench.floors.view:application" if word == "gateway.config.asgi:application" else word for word in WEB
)
FLOOR_WORKER = tuple("bench.floors.task" if word == "gateway" else word for word in WORKER)


class Stack:
    """`with Stack() as stack`: ports by name ("web", "provider", "view"), pids by name, the members' API keys.

    Raises RuntimeError with the end of its log when a process dies or does not get ready.
    """

    def __init__(self, *, web_concurrency: int = 1, provider_port: int | None = None) -> None:
        self.web_concurrency = web_concurrency
        self.directory = Path(tempfile.mkdtemp(prefix="toolgate-bench-"))
        self.services = EmbeddedServices(self.directory / "data", durable=True)
        self.ports = {name: ports.choose(None) for name in ("web", "view")}
        self.ports["provider"] = provider_port or ports.choose(None)
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
        known = os.environ | self.addresses | self._settings() | {"TOOLGATE_PROCESS": process}
        if process != "command":
            known.pop(OWNER, None)
        return known

    def _settings(self) -> dict[str, str]:
        upstream = f"http://127.0.0.1:{self.ports['provider']}"
        return dict.fromkeys(SILENCED, "") | {
            "TOOLGATE_ENV": "development",
            "TOOLGATE_DATA_DIR": str(self.directory / "toolgate"),
            "OPENAI_API_KEY": "bench",
            "OPENAI_BASE_URL": f"{upstream}/v1",
            "SEARXNG_URL": upstream,
            # Where the upstream is also an MCP server.
            "TOOLGATE_EGRESS_ALLOW": "127.0.0.1",
            "DEFAULT_MODEL": "openai/chat",
            "WEB_CONCURRENCY": str(self.web_concurrency),
            "WORKER_CONCURRENCY": str(WORKER_CONCURRENCY),
            "RUN_LEASE_SECONDS": "15",
            "PYTHONWARNINGS": "ignore",
            "DJANGO_SETTINGS_MODULE": "gateway.config.settings",
        }

    def _configuration(self, port: int) -> Configuration:
        return Configuration(
            root=ROOT,
            data_dir=self.directory / "toolgate",
            host="127.0.0.1",
            port=port,
            web_concurrency=self.web_concurrency,
            worker_concurrency=WORKER_CONCURRENCY,
            production=False,
            allowed_hosts=[],
            trusted_proxies=[],
            given={},
        )

    def _commands(self, port: int, listening: int) -> list[Command]:
        """What `make up` would run with this configuration."""
        return commands.processes(self._configuration(port), self.addresses, listening)

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
        self.addresses = self._configuration(self.ports["web"]).addresses(self.services.addresses())
        for command in (["setup_database"], ["migrate", "-v0", "--skip-checks"]):
            subprocess.run(
                [sys.executable, "manage.py", *command],
                cwd=ROOT,
                env=self.environment(),
                check=True,
                stdout=subprocess.DEVNULL,
            )
        made = self.output_of("bench.rig.people", str(USERS))
        self.tenant, self.keys = made["tenant"], made["keys"]
        self._spawn("provider", "bench.rig.upstream", str(self.ports["provider"]))
        with sockets.listen("127.0.0.1", self.ports["web"]) as listening:
            numbers = itertools.count(1)
            for command in self._commands(self.ports["web"], listening.fileno()):
                number = next(numbers) if command.name == "web" else 1
                name = command.name if number == 1 else f"{command.name} {number}"
                self._run(name, command)
        self._spawn("view", *FLOOR_WEB, "--port", str(self.ports["view"]), "--no-proxy-headers", "--lifespan", "off")
        self._spawn("task", *FLOOR_WORKER, "--concurrency", str(WORKER_CONCURRENCY))
        self.wait("web", "/readyz")
        self.wait("view", "/")

    def start_beside(self, kind: str, **settings: str) -> None:
        """Start another "web" or "worker" with settings of its own, as "counted web" or "counted worker"."""
        name = f"counted {kind}"
        self.ports.setdefault(name, ports.choose(None))
        with sockets.listen("127.0.0.1", self.ports[name]) as listening:
            for command in self._commands(self.ports[name], listening.fileno()):
                if command.name == kind:
                    self._run(name, command, **settings)
                    return

    def stop_beside(self) -> None:
        """End what `start_beside` has started."""
        for name in [name for name in self._processes if name.startswith("counted ")]:
            end(self._processes.pop(name), [(signal.SIGTERM, 8.0)])

    def _run(self, name: str, command: Command, **settings: str) -> None:
        environment = command.environment | self._settings() | settings
        self._start_process(name, command.words, environment, command.inherited)

    def _spawn(self, name: str, *words: str) -> None:
        self._start_process(name, (sys.executable, "-m", *words), self.environment(name))

    def _start_process(
        self, name: str, words: tuple[str, ...], environment: dict[str, str], inherited: tuple[int, ...] = ()
    ) -> None:
        with (self.directory / f"{name}.log").open("ab") as log:
            self._processes[name] = spawn(words, cwd=ROOT, env=environment, stdout=log, stderr=log, pass_fds=inherited)

    def wait(self, name: str, path: str) -> None:
        """Return when a server answers 200 at this path."""
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
