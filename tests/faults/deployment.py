"""A Toolgate of its own, services included, that a test may break."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg
import redis
from celery import Celery

from gateway.embedded.services.together import EmbeddedServices
from tests import copies, processes
from tests.database import Owner
from tests.faults.remote import Remote
from tests.stack import ROOT, Stack
from tests.waiting import PATIENCE_SECONDS, until

PACKAGE = Path(__file__).parent / "package"
# The long suite is what `make faults` runs; the short one is part of `make test`.
LONG = os.environ.get("TOOLGATE_FAULTS") == "long"
# Agents beside the tenants' default ones: what differs from those.
AGENTS: dict[str, dict[str, Any]] = {"brief": {"max_turns": 1}, "hasty": {"max_seconds": 2}}
AGENTS |= {"thrifty": {}, "frugal": {}, "measured": {"max_run_tokens": 150_000}, "costly": {"max_run_usd": "0.15"}}
# What the model of their runs costs, so that money has something to count.
PRICES = [{"model": "offline/*", "input": "1", "output": "1"}]


class Member:
    """A demo person."""

    def __init__(self, key: str):
        self.headers = {"Authorization": f"Bearer {key}"}


class Deployment:
    """Services, web, worker and beat, on ports and data of their own."""

    def __init__(self, lease_seconds: int = 3) -> None:
        self.lease_seconds = lease_seconds
        # What openai/… is: a model that always fails.
        self.model = Remote()
        self._log_read = 0
        self._superuser = Owner()
        self.services = EmbeddedServices(Path(tempfile.mkdtemp(prefix="toolgate-deployment-")))

    def __enter__(self) -> Self:
        self.services.__enter__()
        self.environment = self.services.addresses() | {
            "TOOLGATE_DATA_DIR": str(self.services.directory.path / "toolgate"),
            "DATABASE_SYSTEM_URL": "",
            "DATABASE_OPERATOR_URL": "",
            "RUN_LEASE_SECONDS": str(self.lease_seconds),
            "PYTHONPATH": str(PACKAGE),
            # As `make up` has it.
            "UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN": "5",
            "OPENAI_API_KEY": "wrong",
            "OPENAI_BASE_URL": f"{self.model.url}/denied",
        }
        # Processes are killed here, and never the machine: what they have written stays. A slow disk would cost leases.
        self.change("ALTER SYSTEM SET fsync = off")
        self.change("SELECT pg_reload_conf()")
        self._manage("setup_database")
        copies.copy_migrated(self.services.database_owner_url)
        seeded = json.loads(self._manage("seed_demo"))["tenants"].values()
        self.people = {name: Member(each["api_key"]) for people in seeded for name, each in people.items()}
        self.alice, self.zoe = self.people["alice"], self.people["zoe"]
        self._make_agents()
        self.stack = Stack(**self.environment)
        self.stack.start("beat")
        self.stack.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stack.__exit__(kind, error, trace)
        self.services.__exit__(kind, error, trace)
        self.model.close()

    def _manage(self, command: str) -> str:
        done = processes.run(
            [sys.executable, "manage.py", command],
            cwd=ROOT,
            env=os.environ | self.environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    def _make_agents(self) -> None:
        copied = """
            INSERT INTO agents SELECT copy.* FROM agents a, jsonb_populate_record(a, %s
                || jsonb_build_object('id', gen_random_uuid(), 'slug', %s::text, 'is_default', false)) copy
            WHERE a.is_default"""
        priced = """
            INSERT INTO model_settings (id, fallbacks, prices, version) VALUES (gen_random_uuid(), '{}', %s, 1)"""
        with psycopg.connect(self.services.database_owner_url) as connection:
            # On a busy machine it may take long until everything is where a test stops it.
            connection.execute("UPDATE agents SET max_seconds = 3600, tool_seconds = 300, max_turns = 16")
            connection.execute(priced, [json.dumps(PRICES)])
            for slug, differs in AGENTS.items():
                connection.execute(copied, [json.dumps(differs), slug])

    # --- what it is made of ------------------------------------------------------------------------------------------
    @property
    def superuser_url(self) -> str:
        """The login that may change PostgreSQL's own settings."""
        password = self.services.directory.passwords()["postgres_superuser"]
        assert self.services.postgres is not None
        return f"postgresql://postgres:{password}@127.0.0.1:{self.services.postgres.port}/toolgate"

    def valkey(self) -> "redis.Redis":
        """A client of the deployment's Valkey."""
        return redis.Redis.from_url(self.services.redis_url)

    def celery(self) -> Celery:
        """A sender of messages to the deployment's workers."""
        sender = Celery("toolgate", broker=self.services.redis_url, set_as_current=False)
        sender.conf.broker_transport_options = {"global_keyprefix": "toolgate:"}
        return sender

    def send_signal(self, name: str, how: signal.Signals) -> None:
        """Send a signal to a process group and wait for nothing."""
        os.killpg(self.stack.processes[name].pid, how)

    def restart(self, name: str, how: signal.Signals = signal.SIGKILL) -> None:
        """End web, worker or beat that way, and start it again at once, as the supervisor does."""
        self.stack.kill(name, how)
        self.stack.start(name)

    def end_service(self, name: str, how: signal.Signals = signal.SIGKILL) -> Any:
        """End "postgres" (SIGINT: fast, SIGQUIT: immediate) or "valkey" that way; returns it, to be restarted."""
        service = getattr(self.services, name)
        os.kill(service.pid, how)
        self.wait_for(lambda: not service.is_running())
        return service

    @contextmanager
    def set(self, **environment: str) -> Iterator[None]:
        """Inside, web and worker have these settings too."""
        before = self.stack.environment
        self._restart_with(before | environment)
        yield
        self._restart_with(before)

    def _restart_with(self, environment: dict[str, str]) -> None:
        self.stack.environment = environment
        for name in ("web", "worker"):
            self.restart(name)
        self.stack.wait_ready()

    def wait_working(self) -> None:
        """Return when a chat with a call goes through: /readyz may still have heard from a worker that was killed."""
        self.stack.wait_ready()
        done = self.stack.chat(self.alice, 'call: slow_note {"title": "working"}').json()
        assert [call["status"] for call in done["tool_calls"]] == ["success"]

    # --- looking -----------------------------------------------------------------------------------------------------
    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Rows as a superuser sees them; waits for a database that is being restarted."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self._superuser.rows(self.superuser_url, query, values)
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def change(self, statement: str, *values: object) -> None:
        """Run a statement as a superuser of PostgreSQL, for what faults need."""
        with psycopg.connect(self.superuser_url, autocommit=True) as connection:
            connection.execute(statement.encode(), values)

    def wait_for(self, look: Callable[[], Any], while_changes: Callable[[], object] | None = None) -> Any:
        """What `look` answers once it is true; the one place where a fault test waits. Patience begins anew as often as
        `while_changes` answers something else."""
        seen = while_changes() if while_changes else None
        while True:
            try:
                return until(look, lambda: self.stack.log("worker")[-3000:])
            except TimeoutError:
                if while_changes is None or (now := while_changes()) == seen:
                    raise
                seen = now

    def run_of(self, key: str) -> dict[str, Any]:
        """The run that a request with that Idempotency-Key began; empty when there is none."""
        found = self.rows("SELECT * FROM runs WHERE idempotency_key = %s", key)
        return found[0] if found else {}

    def calls_of(self, key: str) -> list[dict[str, Any]]:
        """That run's calls, in the order in which the model made them."""
        query = """SELECT c.* FROM tool_calls c JOIN runs r ON r.id = c.run_id WHERE r.idempotency_key = %s
            ORDER BY c.turn, c.position"""
        return self.rows(query, key)

    def notes_under_way(self) -> int:
        """How many calls of slow_note have saved their note in a transaction that goes on."""
        query = """SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'idle in transaction'
            AND (query LIKE '%%INSERT INTO notes%%' OR query LIKE '%%slow_note waits%%')"""
        return int(self.rows(query)[0]["n"])

    def end_of(self, key: str) -> dict[str, Any]:
        """That run's row once it is over."""
        query = "SELECT * FROM runs WHERE idempotency_key = %s AND finished_at IS NOT NULL"
        found: dict[str, Any] = self.wait_for(lambda: self.rows(query, key))[0]
        return found

    def refused_changes(self) -> list[str]:
        """What PostgreSQL has logged, since the last time it was asked, about changes of final calls."""
        text = (self.services.directory.path / "postgres.log").read_text(errors="replace")
        new, self._log_read = text[self._log_read :], len(text)
        return [line for line in new.splitlines() if " is final" in line]

    def ledger_of(self, call_id: object) -> list[str]:
        """The kinds of the call's ledger entries, in order."""
        query = "SELECT kind FROM ledger_entries WHERE call_id = %s ORDER BY seq"
        return [row["kind"] for row in self.rows(query, call_id)]
