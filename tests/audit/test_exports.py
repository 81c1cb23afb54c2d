"""Exports: what is in them, and what an outsider makes of them."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit.checks.snapshots import Snapshot
from audit.evidence.exports import Export
from audit.log.notes import Signer
from tests import processes
from tests.audit.full_log import make_log
from tests.audit.log_database import LogDatabase
from tests.audit.outsiders import checked

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def log() -> LogDatabase:
    return make_log(160)


def exported(log: LogDatabase, tenant: int = 0) -> Lines:
    """A tenant's whole export."""
    with log.owner() as connection:
        snapshot = Snapshot(connection)
        export = Export.of(snapshot, {"id": log.tenants[tenant], "slug": "one"}, None, None)
        return [json.loads(line) for line in export.lines(snapshot)]


def text_of(lines: Lines) -> str:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


@pytest.mark.parametrize("tenant", [0, 1])
def test_an_outsider_can_check_an_export_with_the_first_key_or_the_last(
    log: LogDatabase, tmp_path: Path, tenant: int
) -> None:
    lines = exported(log, tenant)
    for key in log.vkeys():
        code, words = checked(tmp_path, text_of(lines), key)
        assert code == 0, words
    assert f"entries 0 to {len(lines) - 3} are all here" in words
    assert "not proven: what the other 0 state" in words


def test_it_holds_each_argument_and_result_once(log: LogDatabase) -> None:
    lines = [line for tenant in (0, 1) for line in exported(log, tenant)[1:-1]]
    leaves = [json.loads(line["leaf"]) for line in lines]
    kinds = {"proposed", "decided", "settled", "reported", "erased", "dropped", "read", "changed"}
    assert {leaf["kind"] for leaf in leaves} == kinds
    for line, leaf in zip(lines, leaves, strict=True):
        payload = line.keys() - {"leaf", "proof", "statement", "key"}
        allowed = {"proposed": {"input", "input_raw"}, "settled": {"output", "approved_input"}}
        allowed["reported"] = {"input", "output"}
        assert payload <= allowed.get(leaf["kind"], set())
    assert any("approved_input" in line for line in lines)
    assert any("input_raw" in line for line in lines)


def _with_input(lines: Lines) -> dict[str, Any]:
    return next(line for line in lines if line.get("input"))


TAMPERED: dict[str, Callable[[Lines], Any]] = {
    "an argument": lambda lines: _with_input(lines)["input"].update(title="x"),
    "a result": lambda lines: next(line for line in lines if line.get("output")).update(output={"saved": -1}),
    "an entry less": lambda lines: lines.pop(20),
    "the first entry less": lambda lines: lines.pop(1),
    "the last entry less": lambda lines: lines.pop(-2),
    "no end": lambda lines: lines.pop(),
    "two entries changed places": lambda lines: lines.insert(10, lines.pop(20)),
    "an entry twice": lambda lines: lines.insert(20, lines[20]),
    "a statement": lambda lines: lines[5].update(statement=lines[5]["statement"].replace("a", "b", 1)),
    "a key": lambda lines: lines[5].update(key="00" * 32),
    "another's statement": lambda lines: lines[5].update(statement=lines[9]["statement"], key=lines[9]["key"]),
    "a leaf": lambda lines: lines[5].update(leaf=lines[5]["leaf"].replace('"version":', '"version":1')),
    "a proof": lambda lines: lines[5]["proof"].reverse(),
    "the tenant": lambda lines: lines[0].update(tenant_id="00000000-0000-0000-0000-000000000000"),
    "the end": lambda lines: lines[0].update(end=lines[0]["end"] + 1),
    "the head": lambda lines: lines[0].update(checkpoint=lines[0]["checkpoint"].replace("\n", "\n1", 1)),
    "a shorter range": lambda lines: (lines.pop(-2), lines[0].update(end=lines[0]["end"] - 1)),
    "something after the end": lambda lines: lines.append(lines[5]),
    "an endorsement": lambda lines: lines[0]["keys"][1].update(endorsement=lines[0]["checkpoint"]),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_an_export_that_was_changed_is_wrong(log: LogDatabase, tmp_path: Path, what: str) -> None:
    lines = exported(log)
    TAMPERED[what](lines)
    code, words = checked(tmp_path, text_of(lines), log.vkeys()[0])
    assert (code, "WRONG: " in words) == (1, True), words


def test_an_export_of_another_log_is_wrong(log: LogDatabase, tmp_path: Path) -> None:
    stranger = Signer.generate(log.vkeys()[0].partition("+")[0]).verifier.to_text()
    assert checked(tmp_path, text_of(exported(log)), stranger)[0] == 1


def test_a_part_has_its_place_among_the_tenants_entries(log: LogDatabase, tmp_path: Path) -> None:
    lines = exported(log)
    moments = [json.loads(line["leaf"])["created_at"] for line in lines[1:-1]]
    with log.owner() as connection:
        snapshot = Snapshot(connection)
        [row] = snapshot.all("SELECT %s::timestamptz AS since, %s::timestamptz AS until", moments[40], moments[90])
        export = Export.of(snapshot, {"id": log.tenants[0], "slug": "one"}, row["since"], row["until"])
        part = [json.loads(line) for line in export.lines(snapshot)]
    assert 0 < part[0]["first"] <= 40 < 90 <= part[0]["end"] < len(lines) - 2
    assert [line["leaf"] for line in part[1:-1]] == [
        line["leaf"] for line in lines[1 + part[0]["first"] : 1 + part[0]["end"]]
    ]
    assert checked(tmp_path, text_of(part), log.vkeys()[0])[0] == 0


def test_the_commands_export_and_verify(log: LogDatabase, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    done = _command(log, "export", "--tenant", "one", "--output", str(file))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["export.jsonl"]
    assert _command(log, "verify", "--export", str(file), "--public-key", log.vkeys()[0]).returncode == 0
    whole = _command(log, "verify", "--public-key", log.vkeys()[0])
    assert whole.returncode == 0, whole.stdout
    assert "\nintact; " in whole.stdout
    with log.owner() as connection:
        [reading] = Snapshot(connection).all("SELECT * FROM history_reads WHERE action = 'export'")
    assert (reading["tenant_id"], reading["reader_id"], reading["via"]) == (log.tenants[0], None, "command")
    file.write_bytes(file.read_bytes().replace(b"Note", b"Nota", 1))
    wrong = _command(log, "verify", "--export", str(file), "--public-key", log.vkeys()[0])
    assert (wrong.returncode, "WRONG: " in wrong.stdout) == (1, True)


def _command(log: LogDatabase, *arguments: str) -> subprocess.CompletedProcess[str]:
    return processes.run(
        [sys.executable, "manage.py", "audit", *arguments],
        env=log.environment(),
        capture_output=True,
        text=True,
    )
