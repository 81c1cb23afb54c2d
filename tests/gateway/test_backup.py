"""A backup of a running Toolgate, and what it is worth in a new cluster."""

import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from gateway.embedded.services.together import EmbeddedServices
from gateway.operations.backup import programs
from gateway.operations.backup.errors import BackupRefused
from tests import processes
from tests.faults.deployment import Deployment
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parent.parent.parent
# What row security, partitions and triggers are in the catalogue; a check's text comes back in other words.
CATALOGUE = """
    SELECT 'table', relname, relkind::text, relrowsecurity::text, relforcerowsecurity::text, relispartition::text,
        regexp_replace(relacl::text, 'toolgate_owner=[^,}]*', '', 'g') FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'i', 'I', 'S', 'v')
    UNION ALL SELECT 'policy', tablename, policyname, roles::text, cmd, qual, with_check FROM pg_policies
    UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname, tgenabled::text, '', '', '' FROM pg_trigger
        WHERE NOT tgisinternal
    UNION ALL SELECT 'function', proname, prosecdef::text, prosrc, proconfig::text, '', proacl::text FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, convalidated::text, '', '',
        CASE contype WHEN 'c' THEN '' ELSE pg_get_constraintdef(oid) END FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace
    ORDER BY 1, 2, 3, 4"""


def manage(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *words]
    return processes.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a command that did nothing."""
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    return line


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    """A Toolgate with a web process, a worker and beat, and data of its own.

    Nobody is killed here: who is slow on a busy machine keeps their calls.
    """
    with Deployment(lease_seconds=300) as running:
        yield running


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A fresh PostgreSQL with an empty database, and an empty data directory: an environment to restore into."""
    with EmbeddedServices(tmp_path / "new", durable=False) as services:
        yield services.addresses() | {
            "TOOLGATE_DATA_DIR": str(tmp_path / "new" / "toolgate"),
            "DATABASE_SYSTEM_URL": "",
            "DATABASE_OPERATOR_URL": "",
        }


def catalogue(url: str) -> list[tuple[str, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(CATALOGUE).fetchall()


def counts(url: str) -> dict[str, int]:
    """How many rows each table has, as the owner sees them."""
    with psycopg.connect(url) as connection:
        names = connection.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND"
                                   " relkind IN ('r', 'p') AND NOT relispartition").fetchall()  # fmt: skip
        return {name: connection.execute(f'SELECT count(*) FROM "{name}"'.encode()).fetchone()[0] for (name,) in names}  # type: ignore[index]


def until_sealed(url: str) -> None:
    """Return when every entry has its place in the log."""
    end = time.monotonic() + PATIENCE_SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute("SELECT 1 FROM ledger_entries WHERE leaf_index IS NULL LIMIT 1").fetchone():
            assert time.monotonic() < end, "not sealed"
            time.sleep(0.2)


def test_a_restored_toolgate_goes_on_with_what_waited_and_its_log_is_intact(
    deployment: Deployment, cluster: dict[str, str], tmp_path: Path
) -> None:
    stack, alice, carol = deployment.stack, deployment.people["alice"], deployment.people["carol"]
    assert stack.chat(alice, "Save a note: before the backup").json()["status"] == "completed"
    asked = stack.chat(alice, "Send an email to kim@example.com saying that it works").json()
    assert asked["status"] == "requires_action"
    [waiting] = asked["required_action"]["approvals"]
    until_sealed(deployment.services.database_owner_url)
    file = tmp_path / "toolgate.tar"
    made = manage(deployment.environment, "backup", str(file))
    assert (made.returncode, made.stderr) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    before = catalogue(deployment.services.database_owner_url), counts(deployment.services.database_owner_url)

    restored = manage(cluster, "restore", str(file))
    assert (restored.returncode, [line for line in restored.stderr.splitlines() if line]) == (0, [])
    assert (catalogue(cluster["DATABASE_OWNER_URL"]), counts(cluster["DATABASE_OWNER_URL"])) == before
    new = deployment.environment | cluster
    with Stack(**new) as other:
        other.start("beat")
        url = f"{other.url}/api/v1/approvals/{waiting['id']}/approve/"
        assert httpx.post(url, json={}, headers=carol.headers).json()["status"] == "approved"
        end = time.monotonic() + PATIENCE_SECONDS
        while (run := other.get(alice, f"/api/v1/runs/{asked['run_id']}").json())["status"] != "completed":
            assert time.monotonic() < end, run
            time.sleep(0.2)
        assert [(call["tool"], call["status"]) for call in run["tool_calls"]] == [("send_email", "success")]
        until_sealed(cluster["DATABASE_OWNER_URL"])
        verified = manage(new, "audit", "verify")
    assert (verified.returncode, verified.stdout.splitlines()[-1]) == (0, "intact; warnings: 0")
    # Where it came from, it still waits.
    assert stack.get(alice, f"/api/v1/runs/{asked['run_id']}").json()["status"] == "requires_action"

    # Nothing is restored over what is there.
    again = cluster | {"TOOLGATE_DATA_DIR": str(tmp_path / "another")}
    line = "CommandError: the database toolgate is not empty: restore into a new one, which nobody has set up"
    assert refused(manage(again, "restore", str(file))) == line


def test_a_backup_without_keys_has_none_and_wants_them_at_the_restore(
    deployment: Deployment, cluster: dict[str, str], tmp_path: Path
) -> None:
    stack = deployment.stack
    assert stack.chat(deployment.people["alice"], "Save a note: something to seal").json()["status"] == "completed"
    until_sealed(deployment.services.database_owner_url)
    file = tmp_path / "bare.tar"
    assert manage(deployment.environment, "backup", "--without-keys", str(file)).returncode == 0
    directory = Path(deployment.environment["TOOLGATE_DATA_DIR"])
    with tarfile.open(file) as tar:
        assert set(tar.getnames()) == {"manifest.json", "database.dump", "checkpoints.jsonl", "ledger.pub"}
    secrets = json.loads((directory / "generated.json").read_bytes())
    held = [secrets["secret_key"], secrets["encryption_key"], (directory / "ledger.key").read_text().strip()]
    assert [secret for secret in held if secret.encode() in file.read_bytes()] == []

    line = refused(manage(cluster, "restore", str(file)))
    assert line == (
        "CommandError: TOOLGATE_ENCRYPTION_KEYS must hold every key of the backed-up Toolgate; "
        "the backup was made --without-keys"
    )
    given = cluster | {"TOOLGATE_ENCRYPTION_KEYS": secrets["encryption_key"]}
    assert "--without-keys: put the log's key into " in refused(manage(given, "restore", str(file)))
    assert counts(cluster["DATABASE_OWNER_URL"]) == {}
    given |= {"TOOLGATE_LEDGER_KEY": held[2]}
    assert manage(given, "restore", str(file)).returncode == 0
    assert counts(cluster["DATABASE_OWNER_URL"])["tool_calls"] > 0


def test_what_is_damaged_or_no_backup_is_refused_and_nothing_is_written(
    deployment: Deployment, cluster: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "good.tar"
    assert manage(deployment.environment, "backup", str(file)).returncode == 0
    assert "is there already: name another file" in refused(manage(deployment.environment, "backup", str(file)))
    whole = file.read_bytes()
    at = whole.index(b"PGDMP") + 5000
    cases = {
        "flipped.tar": whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :],
        "cut.tar": whole[: len(whole) // 2],
        "none.tar": b"not a tar",
        "empty.tar": b"",
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        line = refused(manage(cluster, "restore", str(tmp_path / name)))
        assert "is damaged: " in line or "is not a backup that `manage.py backup` made" in line, line
    assert counts(cluster["DATABASE_OWNER_URL"]) == {}
    assert not (Path(cluster["TOOLGATE_DATA_DIR"]) / "checkpoints.jsonl").exists()


def test_a_backup_made_where_the_log_is_not_kept_is_refused(deployment: Deployment, tmp_path: Path) -> None:
    assert (
        deployment.stack.chat(deployment.people["alice"], "Save a note: something to seal").json()["status"]
        == "completed"
    )
    until_sealed(deployment.services.database_owner_url)
    elsewhere = deployment.environment | {"TOOLGATE_DATA_DIR": str(tmp_path / "web")}
    line = refused(manage(elsewhere, "backup", str(tmp_path / "x.tar")))
    assert line.endswith("run it where the worker's data directory is, and with the worker's settings")
    assert [path.name for path in tmp_path.iterdir()] == ["web"]


def test_the_oldest_program_that_can_do_it_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PLACES", ())
    monkeypatch.setattr(programs.importlib.util, "find_spec", lambda name: None)
    for major in (15, 16, 18):
        program = tmp_path / str(major) / "pg_dump"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho 'pg_dump (PostgreSQL) {major}.3 (Debian)'\n")
        program.chmod(0o700)
    monkeypatch.setenv("PATH", ":".join(str(tmp_path / str(each)) for each in (18, 15, 16)))
    assert programs.find("pg_dump", 16, "the server") == programs.Program(tmp_path / "16" / "pg_dump", 16)
    monkeypatch.setenv("PATH", str(tmp_path / "15"))
    with pytest.raises(BackupRefused) as refusal:
        programs.find("pg_dump", 16, "the server, which is PostgreSQL 16")
    assert str(refusal.value) == (
        f"pg_dump of PostgreSQL 16 or newer is needed for the server, which is PostgreSQL 16: "
        f"{tmp_path / '15' / 'pg_dump'} is 15; install one"
    )
