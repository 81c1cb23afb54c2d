"""The faults: each does its harm to a deployment under load, and starts again at once what it has ended."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from tests.faults.arrows import unanswered_commits
from tests.faults.deployment import Deployment
from tests.waiting import PATIENCE_SECONDS

# A fault may answer from when its recovery counts, as seconds since the epoch, where that is not its beginning.
Fault = Callable[[Deployment], float | None]

PROCESSES = ("web", "worker", "beat")
QUEUE = "toolgate:celery"
# How long a COMMIT takes where one is to be hit.
COMMIT_SECONDS = 0.1
_IN_COMMIT = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND pid <> pg_backend_pid()"
_LATELY = "created_at > now() - interval '10 seconds'"


def _killed(name: str, deployment: Deployment) -> None:
    deployment.restart(name)


def _terminated(name: str, deployment: Deployment) -> None:
    deployment.restart(name, signal.SIGTERM)


def _valkey_killed(deployment: Deployment) -> None:
    deployment.end_service("valkey").restart()


def _valkey_hung(deployment: Deployment) -> None:
    assert deployment.services.valkey is not None
    with stopped(deployment.services.valkey.pid):
        # It hangs for longer than any client waits for it.
        time.sleep(6)


def _valkey_flushed(deployment: Deployment) -> None:
    deployment.valkey().flushall()


def _postgres_ended(how: signal.Signals, deployment: Deployment) -> None:
    deployment.end_service("postgres", how).restart()


def _everything_killed(deployment: Deployment) -> float:
    """As by a power cut: recovery counts from when everything has been started again."""
    for name in PROCESSES:
        deployment.stack.kill(name)
    for name in ("valkey", "postgres"):
        deployment.end_service(name).restart()
    for name in PROCESSES:
        deployment.stack.start(name)
    return time.time()


@contextmanager
def stopped(pid: int | None) -> Iterator[None]:
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _web_stopped(deployment: Deployment) -> None:
    with stopped(deployment.stack.processes["web"].pid):
        time.sleep(deployment.lease_seconds + 1)


def _worker_stopped(deployment: Deployment) -> None:
    sleeper = deployment.stack.processes.pop("worker")
    with stopped(sleeper.pid):
        deployment.stack.start("worker")
        time.sleep(deployment.lease_seconds + 4)
    sleeper.terminate()
    sleeper.wait(PATIENCE_SECONDS)


def _two_sweepers(deployment: Deployment) -> None:
    """Two workers that are asked to sweep all the time while a third one's calls lose their leases."""
    deployment.stack.kill("worker")
    deployment.stack.start("worker")
    second = deployment.stack.processes.pop("worker")
    deployment.stack.start("worker")
    sender, end = deployment.celery(), time.monotonic() + deployment.lease_seconds + 5
    while time.monotonic() < end:
        sender.send_task("gateway.sweep", expires=1)
        time.sleep(0.05)
    second.terminate()
    second.wait(PATIENCE_SECONDS)


def _messages_dropped(deployment: Deployment) -> None:
    valkey = deployment.valkey()
    with stopped(deployment.stack.processes["worker"].pid):
        deployment.wait_for(lambda: valkey.llen(QUEUE) >= 3)
        valkey.delete(QUEUE)


def _messages_duplicated(deployment: Deployment) -> None:
    sender = deployment.celery()
    calls = deployment.rows(f"SELECT tenant_id, user_id, id FROM tool_calls WHERE {_LATELY}")
    runs = deployment.rows(f"SELECT tenant_id, user_id, id FROM runs WHERE {_LATELY}")
    for task, rows in (
        ("tools.execute_remote", calls),
        ("tools.execute_local", calls),
        ("tools.execute_remote", calls),
        ("gateway.take_over", runs),
        ("gateway.take_over", runs),
    ):
        for row in rows:
            sender.send_task(task, args=[str(value) for value in row.values()])


@contextmanager
def _slow_commits(deployment: Deployment) -> Iterator[Callable[[], list[int]]]:
    """Inside, a COMMIT takes COMMIT_SECONDS; yields what tells the backends that are in one."""

    def in_commit() -> list[int]:
        return [row["pid"] for row in deployment.rows(_IN_COMMIT)]

    deployment.change("INSERT INTO fault_pauses VALUES (%s)", COMMIT_SECONDS)
    try:
        yield in_commit
    finally:
        deployment.change("DELETE FROM fault_pauses")


def _commits_cut(deployment: Deployment) -> None:
    with _slow_commits(deployment) as in_commit:
        for _ in range(5):
            for pid in deployment.wait_for(in_commit):
                deployment.change("SELECT pg_terminate_backend(%s)", pid)


def _restarted_in_commit(deployment: Deployment) -> None:
    with _slow_commits(deployment) as in_commit:
        deployment.wait_for(lambda: len(in_commit()) > 1)
        deployment.end_service("postgres", signal.SIGQUIT).restart()


def _answers_lost(deployment: Deployment) -> None:
    with unanswered_commits(deployment) as waiting:
        deployment.wait_for(lambda: len(waiting()) > 3)


FAULTS: dict[str, Fault] = {
    **{f"kill -9 {name}": partial(_killed, name) for name in PROCESSES},
    **{f"SIGTERM {name}": partial(_terminated, name) for name in PROCESSES[:2]},
    "SIGSTOP web past its lease": _web_stopped,
    "SIGSTOP worker past its lease": _worker_stopped,
    "kill -9 PostgreSQL": partial(_postgres_ended, signal.SIGKILL),
    "PostgreSQL restarted": partial(_postgres_ended, signal.SIGINT),
    "PostgreSQL ended during COMMIT": _restarted_in_commit,
    "connections cut in COMMIT": _commits_cut,
    "COMMIT done and never answered": _answers_lost,
    "kill -9 Valkey": _valkey_killed,
    "Valkey flushed": _valkey_flushed,
    "Valkey hung": _valkey_hung,
    "messages dropped": _messages_dropped,
    "messages duplicated": _messages_duplicated,
    "two sweepers": _two_sweepers,
    "kill -9 everything": _everything_killed,
}
# Those that take seconds by themselves: left to the long suite.
LASTING = {
    "SIGTERM web",
    "SIGTERM worker",
    "SIGSTOP web past its lease",
    "SIGSTOP worker past its lease",
    "Valkey hung",
    "two sweepers",
    "PostgreSQL restarted",
}
