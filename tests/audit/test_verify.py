"""What a verification says: of a log that nobody touched, and of what can be told apart from that."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from audit.calls import decisions
from audit.checks import statements
from audit.checks.findings import Finding
from tests import processes
from tests.audit.full_log import make_log
from tests.audit.log_database import LogDatabase
from tests.audit.tampering.log import remake_tiles

Connection = psycopg.Connection[dict[str, Any]]


@pytest.fixture(scope="module")
def log() -> LogDatabase:
    return make_log()


def texts(found: list[Finding]) -> list[str]:
    return [str(finding) for finding in found]


def test_a_log_that_nobody_touched_is_intact(log: LogDatabase) -> None:
    with log.owner() as connection:
        found, summary = log.verified(connection)
        counts = connection.execute(
            "SELECT (SELECT count(*) FROM ledger_entries) AS entries, (SELECT count(*) FROM tool_calls) AS calls,"
            " (SELECT count(*) FROM tool_calls WHERE row_key IS NULL) AS erased,"
            " (SELECT count(*) FROM ledger_entries WHERE version < 3) AS old_versions,"
            " (SELECT count(*) FROM ledger_entries WHERE leaf_index IS NULL) AS unsealed"
        ).fetchone()
    assert texts(found) == []
    assert counts is not None
    assert {name: getattr(summary, name) for name in counts} == counts
    assert (summary.erased, summary.dropped, summary.errors, summary.warnings) == (16, 5, 0, 0)
    assert summary.old_versions > 40 and summary.unsealed > 10
    assert summary.checkpoints == 2 * len(log.lines())


def test_where_nobody_says_how_decisions_are_read_no_log_is_intact(
    log: LogDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "_registered", [])
    with log.owner() as connection, pytest.raises(LookupError, match="how decisions are read"):
        log.verified(connection)


def test_entries_since_version_3_vouch_for_every_column_of_a_call() -> None:
    assert statements.gaps(3) == statements.gaps(4) == frozenset()
    assert "origin" in statements.vouched("proposed", 4) and "origin" not in statements.vouched("proposed", 3)
    assert statements.gaps(2) == {"time_limit_ms", "fence", "output_bytes", "queued_at", "started_at"}
    approval = {"approval_id", "approved_params_hash", "approved_input", "resumed_decision"}
    assert statements.gaps(1) == statements.gaps(2) | approval


@pytest.mark.parametrize("version", [1, 2])
def test_what_an_older_version_vouches_for_is_held_to_it(log: LogDatabase, version: int) -> None:
    with log.owner() as connection:
        row = connection.execute(
            "UPDATE tool_calls SET display = 'x', tool_name = 'x' WHERE id = (SELECT call_id FROM ledger_entries"
            " WHERE version = %s AND kind = 'settled' ORDER BY seq LIMIT 1) RETURNING id",
            [version],
        ).fetchone()
        found, _ = log.verified(connection)
    assert row is not None
    assert [(each.rule, each.call_id) for each in found] == [("commitment", row["id"])] * 2


def test_an_old_backup_is_behind_the_checkpoint_file_and_the_notes_that_were_kept(log: LogDatabase) -> None:
    newest = json.loads(log.lines()[-1])["note"]
    with log.owner() as connection:
        size = _set_back(connection)
        first = log.vkeys()[:1]
        found, _ = log.verified(connection, trusted=first)
        kept, _ = log.verified(connection, trusted=log.vkeys(), lines=[], notes=[("stored.note", newest)])
        alone, _ = log.verified(connection, trusted=first, lines=[])
    ahead = [finding for finding in found if finding.rule == "ahead"]
    assert [finding.leaf_index for finding in ahead] == [size]
    assert "in line " in ahead[0].text
    assert [finding.rule for finding in kept] == ["key", "ahead"]
    # Nobody kept anything: then an old backup is a log like any other.
    assert texts(alone) == []


def _set_back(connection: Connection) -> int:
    """The database as it was at its second head."""
    [_, second, *_] = connection.execute("SELECT size FROM ledger_checkpoints ORDER BY id").fetchall()
    size = int(second["size"])
    newer = "SELECT call_id FROM ledger_entries WHERE leaf_index >= %(size)s OR leaf_index IS NULL"
    for table, column in (("tool_calls", "id"), ("approval_decisions", "call_id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} IN ({newer})".encode(), {"size": size})
    records = newer.replace("call_id", "record_id")
    for table in ("erasures", "history_reads", "setting_changes"):
        connection.execute(f"DELETE FROM {table} WHERE id IN ({records})".encode(), {"size": size})
    connection.execute("DELETE FROM ledger_entries WHERE leaf_index >= %s OR leaf_index IS NULL", [size])
    connection.execute("DELETE FROM ledger_checkpoints WHERE size > %s", [size])
    connection.execute("DELETE FROM ledger_keys WHERE endorsement IS NOT NULL")
    remake_tiles(connection)
    return size


def test_without_a_key_the_database_vouches_for_itself_and_the_summary_says_so(log: LogDatabase) -> None:
    with log.owner() as connection:
        found, summary = log.verified(connection, trusted=[])
    assert (texts(found), summary.trusted) == ([], False)


@pytest.mark.parametrize("number", [0, 1])
def test_the_first_key_is_enough_and_so_is_the_last(log: LogDatabase, number: int) -> None:
    with log.owner() as connection:
        found, summary = log.verified(connection, trusted=[log.vkeys()[number]])
    assert (texts(found), summary.trusted) == ([], True)


def test_an_entry_that_waits_for_minutes_is_a_warning(log: LogDatabase) -> None:
    with log.owner() as connection:
        connection.execute("UPDATE ledger_checkpoints SET created_at = created_at - interval '8 minutes'")
        connection.execute("UPDATE ledger_entries SET created_at = created_at - interval '6 minutes' WHERE seq = ("
                           "SELECT max(seq) FROM ledger_entries)")  # fmt: skip
        found, summary = log.verified(connection, lines=[])
    assert ([finding.severity for finding in found], summary.errors, summary.warnings) == (["warning"], 0, 1)
    assert "waits to be sealed" in found[0].text


def test_a_line_that_is_being_written_is_a_warning_and_a_garbled_one_an_error(log: LogDatabase) -> None:
    lines = log.lines()
    with log.owner() as connection:
        torn, _ = log.verified(connection, lines=[*lines, '{"created_at": "20'])
        garbled, _ = log.verified(connection, lines=[*lines[:2], "x\n", *lines[2:]])
    assert [(each.severity, each.table) for each in torn] == [("warning", "checkpoints.jsonl")]
    assert [(each.severity, each.text) for each in garbled] == [
        ("error", "line 3 of the checkpoint file cannot be read")
    ]


def test_nothing_that_is_found_shows_a_payload_or_a_key(log: LogDatabase) -> None:
    with log.owner() as connection:
        rows = connection.execute("SELECT row_key, input FROM tool_calls WHERE row_key IS NOT NULL").fetchall()
        connection.execute("UPDATE tool_calls SET input = '{\"secret\": 1}', output = '{}', display = 'secret'")
        found, _ = log.verified(connection)
    shown = "\n".join([*texts(found), *(json.dumps(each.as_json()) for each in found)])
    assert len(found) > 100
    assert "secret" not in shown
    assert not any(row["row_key"].hex() in shown or str(row["input"]) in shown for row in rows if row["input"])


def test_the_command_says_line_by_line_what_is_wrong(log: LogDatabase, tmp_path: Path) -> None:
    note = tmp_path / "kept.note"
    note.write_text(json.loads(log.lines()[1])["note"])
    intact = _verify(log, "--checkpoint", str(note), "--json")
    assert intact.returncode == 0, intact.stdout
    [summary] = [json.loads(line) for line in intact.stdout.splitlines()]
    assert (summary["summary"]["errors"], summary["summary"]["trusted"]) == (0, True)
    note.write_text(note.read_text().replace("\n", "\n1", 1))
    forged = _verify(log, "--checkpoint", str(note))
    assert forged.returncode == 1
    first, *_, last = forged.stdout.splitlines()
    assert first.startswith(f"error: the head in {note} is not to be trusted: ")
    assert last == "NOT INTACT; errors: 1, warnings: 0"
    stranger = _verify(log, "--public-key", "nonsense")
    assert (stranger.returncode, "'nonsense' is no public key" in stranger.stderr) == (1, True)


def _verify(log: LogDatabase, *arguments: str) -> subprocess.CompletedProcess[str]:
    return processes.run(
        [sys.executable, "manage.py", "audit", "verify", *arguments],
        env=log.environment(),
        capture_output=True,
        text=True,
    )
