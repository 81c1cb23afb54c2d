"""Two MCP servers that others wrote: one over Streamable HTTP, one over standard input and output behind a bridge."""

import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.services.api import OUTSIDE, Api, Asked, Reply
from tests.waiting import until

PACKAGES = Path(__file__).resolve().parents[2] / ".venv" / "node" / "node_modules" / "@modelcontextprotocol"


def required() -> None:
    """Skip without Node and the servers, but never on CI."""
    if shutil.which("node") is None or not (PACKAGES / "server-everything").is_dir():
        assert not os.environ.get("CI"), "CI must have node, and tests/node installed by `make test`"
        pytest.skip("there is no node, or tests/node is not installed")


class Everything:
    """`@modelcontextprotocol/server-everything` over Streamable HTTP; it forgets its sessions when it is restarted."""

    def __init__(self) -> None:
        # Bound at every address and never listened on: the kernel gives the port to nobody else, also while the server
        # is down, and node shares it.
        self._holder = socket.socket()
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._holder.bind(("", 0))
        self.port = self._holder.getsockname()[1]
        self.url = f"http://{OUTSIDE}:{self.port}/mcp"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        script = PACKAGES / "server-everything" / "dist" / "index.js"
        self._process = subprocess.Popen(
            ["node", str(script), "streamableHttp"],
            env={**os.environ, "PORT": str(self.port)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(self._answers)

    def stop(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        try:
            return httpx.get(self.url).status_code > 0
        except httpx.TransportError:
            return False


class Bridge:
    """A server on standard input and output, as one over Streamable HTTP with one session."""

    def __init__(self, api: Api, command: list[str]):
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._lock = threading.Lock()
        api.on("/mcp", self._reply)

    def _reply(self, asked: Asked) -> Reply:
        if asked.method != "POST":
            return Reply(405)
        message = asked.json
        if message.get("method") == "server/discover":
            # As a server of an older revision has it, which knows no request before `initialize`.
            return Reply(400)
        with self._lock:
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
            if "id" not in message:
                return Reply(202, b"")
            headers = {"Content-Type": "application/json", "Mcp-Session-Id": "the-only-one"}
            return Reply(200, self._answer(message["id"]), headers)

    def _answer(self, number: Any) -> bytes:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if json.loads(line).get("id") == number:
                return line
        raise AssertionError("the server has ended")

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


@contextmanager
def files(api: Api, folder: Path) -> Iterator[None]:
    """`@modelcontextprotocol/server-filesystem` over one folder, at the API's `/mcp`."""
    script = PACKAGES / "server-filesystem" / "dist" / "index.js"
    bridge = Bridge(api, ["node", str(script), str(folder)])
    try:
        yield
    finally:
        bridge.stop()
