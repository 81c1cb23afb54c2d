"""A Toolgate of its own, services included, that a test may break."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg.rows import dict_row

from gateway.embedded.services import EmbeddedServices
from tests.stack import ROOT, Stack

PACKAGE = Path(__file__).parent / "package"
LEASE_SECONDS = 3
# Only there to end a test that would wait for ever; no test measures by it.
PATIENCE_SECONDS = 60


class Remote:
    """A remote that counts what reaches it, and answers only when `gate` is opened."""

    def __init__(self) -> None:
        self.hits: list[str] = []
        self.reached = threading.Event()
        self.gate = threading.Event()
        remote = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                remote.hits.append(self.path)
                remote.reached.set()
                remote.gate.wait(60)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Let everybody go and stop."""
        self.gate.set()
        self._server.shutdown()


class Member:
    """A demo person."""

    def __init__(self, key: str):
        self.headers = {"Authorization": f"Bearer {key}"}


class House:
    """Services, web, worker and beat, on ports and data of their own."""

    def __init__(self) -> None:
        self.data_dir = Path(tempfile.mkdtemp(prefix="toolgate-house-"))
        self.services = EmbeddedServices(self.data_dir)

    def __enter__(self) -> Self:
        self.services.__enter__()
        self.environment = self.services.addresses() | {
            "TOOLGATE_DATA_DIR": str(self.data_dir / "toolgate"),
            "DATABASE_SYSTEM_URL": "",
            "DATABASE_OPERATOR_URL": "",
            "RUN_LEASE_SECONDS": str(LEASE_SECONDS),
            "PYTHONPATH": str(PACKAGE),
        }
        for command in ("setup_database", "migrate", "seed_demo"):
            out = self._manage(command)
        self.people = {name: Member(each["api_key"]) for name, each in json.loads(out)["tenants"]["demo"].items()}
        self.alice = self.people["alice"]
        self.stack = Stack(**self.environment)
        self.stack.start("beat")
        self.stack.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stack.__exit__(kind, error, trace)
        self.services.__exit__(kind, error, trace)

    def _manage(self, command: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", command, *(["-v0"] if command == "migrate" else [])],
            cwd=ROOT,
            env=os.environ | self.environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Rows as the owner sees them; waits for a database that is being restarted."""
        end = time.monotonic() + 20
        while True:
            try:
                with psycopg.connect(self.services.database_owner_url, row_factory=dict_row) as connection:
                    return connection.execute(query.encode(), values).fetchall()
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def begin(self, content: str) -> tuple[uuid.UUID, threading.Thread]:
        """Send a chat and do not wait for its answer; returns the run once it is in the database."""
        key = uuid.uuid4().hex
        thread = threading.Thread(target=self._send, args=(content, key), daemon=True)
        thread.start()
        found = self.wait_for(lambda: self.rows("SELECT id FROM runs WHERE idempotency_key = %s", key))
        return found[0]["id"], thread

    def _send(self, content: str, key: str) -> None:
        try:
            self.stack.chat(self.alice, content, headers={"Idempotency-Key": key})
        except Exception:
            # The web process may be what the test kills.
            return

    def wait_for(self, look: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
        """What `look` answers once it is true; the one place where a fault test waits."""
        end = time.monotonic() + seconds
        while not (found := look()):
            if time.monotonic() > end:
                raise TimeoutError(f"nothing after {seconds} s; {self.stack.log('worker')[-3000:]}")
            time.sleep(0.05)
        return found

    def call_of(self, run_id: uuid.UUID, status: str | None = None) -> dict[str, Any] | None:
        """The run's call, when it is in that status."""
        found = self.rows("SELECT * FROM tool_calls WHERE run_id = %s", run_id)
        return found[0] if found and (status is None or found[0]["status"] == status) else None

    def end_of(self, run_id: uuid.UUID) -> dict[str, Any]:
        """The run's row once it is over."""
        query = "SELECT * FROM runs WHERE id = %s AND finished_at IS NOT NULL"
        return self.wait_for(lambda: self.rows(query, run_id))[0]

    def ledger_of(self, call_id: uuid.UUID) -> list[str]:
        """The kinds of the call's ledger entries, in order."""
        return [
            row["kind"] for row in self.rows("SELECT kind FROM ledger_entries WHERE call_id = %s ORDER BY seq", call_id)
        ]
