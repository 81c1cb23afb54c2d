"""Several processes that verify a log: they find what one finds, in its order and words, and miss none that dies."""

import json
import multiprocessing.util
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakValueDictionary

import psycopg
import pytest
from psycopg.rows import dict_row

from audit.checks import processes, slices
from audit.checks.findings import Finding, Summary
from audit.checks.processes import CannotVerify, Processes
from audit.checks.snapshots import Snapshot
from audit.checks.verification import Verification
from tests.audit.full_log import make_log
from tests.audit.log_database import LogDatabase
from tests.processes import run

Change = Callable[[psycopg.Connection[Any]], Any]
TAMPERED: dict[str, str] = {
    "calls": "UPDATE tool_calls SET display = 'x', input = '{}' WHERE id IN"
    " (SELECT id FROM tool_calls WHERE row_key IS NOT NULL ORDER BY id LIMIT 40)",
    "entries less": "DELETE FROM ledger_entries WHERE leaf_index IN (7, 8, 9, 31, 60)",
    "an entry beyond the end": "UPDATE ledger_entries SET leaf_index = leaf_index + 100000 WHERE leaf_index = 20",
    "an entry before the beginning": "UPDATE ledger_entries SET leaf_index = -5 WHERE leaf_index = 20",
    "no entries": "DELETE FROM ledger_entries",
    "no calls": "DELETE FROM tool_calls",
    "tiles": "UPDATE ledger_tiles SET hashes = set_byte(hashes, 200, 7) WHERE level = 0",
    "months": "UPDATE erasures SET calls = calls + 1 WHERE scope = 'month'",
    "readings": "UPDATE history_reads SET calls = 99",
}


@pytest.fixture(scope="module")
def log() -> LogDatabase:
    return make_log(160)


@pytest.fixture(autouse=True)
def forked_as_by_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """`audit verify` forks before it has a connection. Other tests may have left some of Celery's here, which each fork
    would close first: for one that waits for an answer it waits, too, and the answer never comes."""
    monkeypatch.setattr(multiprocessing.util, "_afterfork_registry", WeakValueDictionary())


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of a few entries and calls, so that a small log has many."""
    monkeypatch.setattr(slices, "BATCH", 16)
    monkeypatch.setattr(slices, "_EDGES", slices._EDGES.replace(str(slices.CALLS_OF_SLICE), "7"))


def verified(
    log: LogDatabase, number: int, each: Callable[[Any], object] = lambda _: None
) -> tuple[list[Finding], Summary]:
    """What `number` processes find, or with 0 this one."""
    url = log.owner_url
    workers = Processes(number, url) if number else None
    try:
        with psycopg.connect(url, row_factory=dict_row) as connection, Snapshot.of(connection) as snapshot:
            verification = Verification(snapshot, log.vkeys(), log.lines(), processes=workers)
            verification.progress = lambda what, count: each(workers)
            return list(verification.found()), verification.summary
    finally:
        if workers is not None:
            workers.__exit__()


@pytest.fixture
def tampered(log: LogDatabase, request: pytest.FixtureRequest) -> Iterator[str]:
    """The log with a change that is committed, in a database of its own.

    It stays: its owner cannot drop it by force while PostgreSQL itself vacuums it.
    """
    name = log.owner_url.rpartition("/")[2]
    copy = f"{name}_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(log.owner_url.replace(name, "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {copy} TEMPLATE {name}".encode())
    log.owner_url = log.owner_url.replace(name, copy)
    try:
        with psycopg.connect(log.owner_url) as changed:
            changed.execute(TAMPERED[request.param].encode())
        yield request.param
    finally:
        log.owner_url = log.owner_url.replace(copy, name)


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("tampered", TAMPERED, indirect=True)
def test_several_processes_find_what_one_finds_in_its_order_and_words(log: LogDatabase, tampered: str) -> None:
    found, summary = verified(log, 0)
    assert found
    for number in (1, 3):
        again, counted = verified(log, number)
        assert again == found
        assert counted == summary


@pytest.mark.usefixtures("small_slices")
def test_an_untouched_log_is_intact_for_several_processes_too(log: LogDatabase) -> None:
    alone, counted = verified(log, 0)
    assert verified(log, 2) == (alone, counted)
    assert (alone, counted.errors) == ([], 0)
    assert counted.calls > 100


@pytest.mark.usefixtures("small_slices")
def test_they_see_one_snapshot_whatever_is_committed_meanwhile(log: LogDatabase) -> None:
    done = threading.Event()

    def change(_: Any) -> None:
        if not done.is_set():
            done.set()
            with psycopg.connect(log.owner_url) as other:
                other.execute("UPDATE tool_calls SET display = display || ' changed'")

    try:
        assert verified(log, 2, change)[0] == []
        assert verified(log, 2)[0] != []
    finally:
        with psycopg.connect(log.owner_url) as other:
            other.execute("UPDATE tool_calls SET display = replace(display, ' changed', '')")


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("kind", ["entries", "calls"])
def test_where_a_process_dies_nothing_is_concluded(log: LogDatabase, kind: str) -> None:
    def kill(workers: Any) -> None:
        os.kill(workers.pids[0], signal.SIGKILL)

    seen: list[int] = []

    def each(workers: Any) -> None:
        seen.append(1)
        # By then the entries are done, and calls are asked for.
        if kind == "entries" or len(seen) > ENTRY_PARTS:
            kill(workers)

    entries = "SELECT count(*) FROM ledger_entries WHERE leaf_index IS NOT NULL"
    with psycopg.connect(log.owner_url) as connection:
        [count] = connection.execute(entries.encode()).fetchone() or [0]
    ENTRY_PARTS = -(-count // 16)
    with pytest.raises(CannotVerify, match=r"has ended \(exit code -9\)"):
        verified(log, 2, each)


def test_where_a_process_fails_nothing_is_concluded(log: LogDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("no memory")

    monkeypatch.setattr(processes.Slices, "checked", broken)
    with pytest.raises(CannotVerify, match="no memory"):
        verified(log, 2)


def test_the_processes_end_with_the_verification(log: LogDatabase) -> None:
    workers = Processes(2, log.owner_url)
    with workers:
        pids = workers.pids
    assert len(pids) == 2
    assert [process.exitcode for process in workers._processes] == [0, 0]


def test_the_command_takes_a_number_of_processes_and_says_when_it_cannot_verify(log: LogDatabase) -> None:
    intact = _verify(log, "--jobs", "2")
    assert (intact.returncode, intact.stdout.splitlines()[-1]) == (0, "intact; warnings: 0"), intact.stderr
    assert _verify(log, "--jobs", "1").stdout == intact.stdout
    broken = "import audit.checks.slices as s, os; s.Slices.checked = lambda *_: os._exit(3)"
    for words, said in ((), "CANNOT VERIFY: a process"), (("--json",), '{"cannot_verify": "a process'):
        gone = _verify(log, "--jobs", "2", *words, before=broken)
        assert gone.returncode == 1
        last = gone.stdout.splitlines()[-1]
        assert last.startswith(said) and "(exit code 3)" in last
        assert "intact" not in gone.stdout
    assert _verify(log, "--jobs", "0").returncode != 0


def _verify(log: LogDatabase, *words: str, before: str = "") -> subprocess.CompletedProcess[str]:
    program = f"""
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.config.settings")
import django
django.setup()
{before}
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "audit", "verify", *{json.dumps(words)}])
"""
    return run([sys.executable, "-c", program], env=log.environment(), capture_output=True, text=True, check=False)
