"""A whole Toolgate for tests: a web process and a Celery worker, as `make up` starts them."""

import ipaddress
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from gateway.embedded.commands import WEB
from tests import processes
from tests.brokers import BROKERS
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parent.parent
# Only there to end what would wait for ever; below the time that pytest gives a test.
READY_SECONDS = PATIENCE_SECONDS
END_SECONDS = 120


# Bound and never listened on: the kernel gives their ports to nobody else until this process ends.
_reserved: list[socket.socket] = []


def free_port(host: str = "127.0.0.1") -> int:
    """A loopback port that nobody listens on, and on which only a server that reuses addresses, as ours do, can."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((host, 0))
    _reserved.append(holder)
    return int(holder.getsockname()[1])


# The addresses that nobody has had: this process's Valkey, in which they are counted, is its own.
_hosts = count(1)


def somewhere_else() -> dict[str, str]:
    """Headers of a client at an address of its own, so that log-ins of other tests do not count against it."""
    return {"X-Forwarded-For": str(ipaddress.IPv4Address(next(_hosts) | 10 << 24))}


_brokers = iter(BROKERS)


class Stack:
    """`with Stack() as stack: httpx.post(stack.url + "/api/v1/chat", …)`; `environment` is added to the processes'.

    A stack of other settings has a broker of its own: a worker without its providers would fail its runs. `popen` is
    what starts its processes: subprocess.Popen where /proc is looked at.
    """

    def __init__(self, popen: Callable[..., "subprocess.Popen[bytes]"] = processes.Popen, **environment: str):
        self._popen = popen
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        if environment and "REDIS_URL" not in environment:
            environment["REDIS_URL"] = f"{os.environ['REDIS_URL'].rpartition('/')[0]}/{next(_brokers)}"
        self.environment = environment
        self.logs = Path(tempfile.mkdtemp(prefix="toolgate-stack-"))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._ports = {"web": self.port}

    def __enter__(self) -> Self:
        self.start("web")
        self.start("worker")
        self.wait_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self.processes):
            self.kill(name)

    def start_web(self, name: str, **environment: str) -> str:
        """Start another web process, called "… web", beside the first on the same database and Valkey; its URL, once it
        answers. In the environment, `{port}` is its port."""
        self._ports[name] = free_port()
        port = str(self._ports[name])
        self.start(name, **{each: value.replace("{port}", port) for each, value in environment.items()})
        url = f"http://127.0.0.1:{self._ports[name]}"
        self.wait_ready(url, "/healthz")
        return url

    def start(self, name: str, **environment: str) -> None:
        """Start "web" or another of `start_web`, "worker" or "beat"; `environment` is added to its own."""
        python = [sys.executable, "-m"]
        kind, port = name.rpartition(" ")[2], self._ports.get(name, self.port)
        web = [*WEB, "--port", str(port)]
        celery = ["celery", "-A", "gateway"]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        command = {
            "web": [*python, *web],
            "worker": [*python, *celery, "worker", "--concurrency", "8", *quiet],
            "beat": [*python, *celery, "beat", "--schedule", str(self.logs / "beat")],
        }[kind]
        whole = os.environ | self.environment | {"TOOLGATE_PROCESS": kind, "PORT": str(port)} | environment
        whole.pop("DATABASE_OWNER_URL", None)
        with (self.logs / f"{name}.log").open("ab") as log:
            self.processes[name] = self._popen(
                command, cwd=ROOT, env=whole, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self, name: str, how: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal, and for those that end a process wait for its end."""
        process = self.processes[name]
        if process.poll() is None:
            os.killpg(process.pid, how)
            if how in (signal.SIGKILL, signal.SIGTERM):
                process.wait(END_SECONDS)
        if process.poll() is not None:
            del self.processes[name]

    def wait_ready(self, url: str = "", path: str = "/readyz") -> None:
        """Return when /readyz answers 200."""
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end:
            try:
                if httpx.get(f"{url or self.url}{path}", timeout=20).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            dead = [name for name, process in self.processes.items() if process.poll() is not None]
            if dead:
                raise RuntimeError(f"{dead} died: {self.log(dead[0])[-3000:]}")
            time.sleep(0.1)
        raise TimeoutError(f"not ready: {self.log('web')[-2000:]} {self.log('worker')[-2000:]}")

    def log(self, name: str) -> str:
        """What a process has written."""
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def chat(self, person: Any, content: str, **more: Any) -> httpx.Response:
        """`POST /api/v1/chat` as a person."""
        headers = person.headers | more.pop("headers", {})
        timeout = more.pop("timeout", PATIENCE_SECONDS)
        return httpx.post(
            f"{self.url}/api/v1/chat", json={"content": content, **more}, headers=headers, timeout=timeout
        )

    def get(self, person: Any, path: str, **more: Any) -> httpx.Response:
        """A GET as a person."""
        return httpx.get(f"{self.url}{path}", headers=person.headers | more.pop("headers", {}), **more)
