"""A running Toolgate seals by itself, whoever is killed, and only its worker sees the key."""

import errno
import os
import random
import signal
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from audit.log import merkle
from audit.log.leaves import leaf_hash
from audit.log.notes import Checkpoint, Signer, Verifier, open_note
from gateway.embedded import commands, configuration
from tests.faults.deployment import Deployment
from tests.stack import Stack

CALL = "call: list_tasks"


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    """A Toolgate with beat."""
    with Deployment() as standing:
        yield standing


def _directory(deployment: Deployment) -> Path:
    return Path(deployment.environment["TOOLGATE_DATA_DIR"])


def _sealed(deployment: Deployment) -> bool:
    """Whether something is in the log and nothing waits."""
    [found] = deployment.rows(
        "SELECT count(*) FILTER (WHERE leaf_index IS NULL) AS waiting, count(leaf_index) AS sealed FROM ledger_entries"
    )
    return bool(found["sealed"] and not found["waiting"])


def _check_the_log(deployment: Deployment) -> list[Checkpoint]:
    """Every entry is there once, and every head is of this tree; the heads."""
    entries = deployment.rows("SELECT * FROM ledger_entries ORDER BY leaf_index")
    assert [entry["leaf_index"] for entry in entries] == list(range(len(entries)))
    hashes = [leaf_hash(entry) for entry in entries]
    verifiers = [Verifier.from_text(row["vkey"]) for row in deployment.rows("SELECT vkey FROM ledger_keys")]
    notes = [row["note"] for row in deployment.rows("SELECT note FROM ledger_checkpoints ORDER BY id")]
    heads = [Checkpoint.parse(open_note(note, verifiers)) for note in notes]
    for head in heads:
        assert head.root == merkle.root(hashes[: head.size])
    assert heads[-1].size == len(entries)
    file = _directory(deployment) / "checkpoints.jsonl"
    written = deployment.wait_for(
        lambda: file.exists() and (lines := file.read_bytes().splitlines())[len(notes) - 1 :] and lines
    )
    assert [orjson.loads(line)["note"] for line in written] == notes
    counted = deployment.rows("SELECT coalesce(sum(calls), 0) AS calls FROM tool_call_counts WHERE user_id IS NULL")
    settled = deployment.rows("SELECT count(*) AS calls FROM ledger_entries WHERE kind = 'settled'")
    assert counted[0]["calls"] == settled[0]["calls"]
    return heads


def _metrics(deployment: Deployment) -> dict[str, float]:
    with urllib.request.urlopen(f"{deployment.stack.url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return {line.split()[0]: float(line.split()[1]) for line in lines if line.startswith("toolgate_ledger")}


def test_what_a_chat_did_is_in_the_log_seconds_later(deployment: Deployment) -> None:
    assert deployment.stack.chat(deployment.alice, CALL).status_code == 200
    deployment.wait_for(lambda: _sealed(deployment))
    heads = _check_the_log(deployment)
    assert _metrics(deployment) == {
        "toolgate_ledger_unsealed_entries": 0,
        "toolgate_ledger_unsealed_age_seconds": 0,
        "toolgate_ledger_log_size": heads[-1].size,
        "toolgate_ledger_sealing_refused": 0,
    }


def test_whoever_is_killed_everything_is_sealed_once(deployment: Deployment) -> None:
    dice = random.Random(11)
    with ThreadPoolExecutor(4) as threads:
        answers = [threads.submit(deployment.stack.chat, deployment.alice, CALL) for _ in range(40)]
        for _ in range(4):
            before = deployment.rows("SELECT count(*) AS n FROM ledger_checkpoints")[0]["n"]
            deployment.wait_for(
                lambda before=before: (
                    deployment.rows("SELECT count(*) AS n FROM ledger_checkpoints")[0]["n"] > before
                    or all(answer.done() for answer in answers)
                )
            )
            deployment.restart("worker", dice.choice((signal.SIGKILL, signal.SIGTERM)))
            deployment.restart("beat")
        assert {answer.result().status_code for answer in answers} == {200}
    deployment.wait_for(lambda: _sealed(deployment))
    _check_the_log(deployment)


def test_a_key_that_is_not_the_logs_is_an_alarm_until_it_is_put_right(deployment: Deployment) -> None:
    deployment.stack.chat(deployment.alice, CALL)
    deployment.wait_for(lambda: _sealed(deployment))
    heads = _check_the_log(deployment)
    key = _directory(deployment) / "ledger.key"
    own = key.read_text()
    key.write_text(Signer.generate(heads[0].origin).to_text())
    deployment.wait_for(lambda: _metrics(deployment)["toolgate_ledger_sealing_refused"] == 1)
    assert deployment.stack.chat(deployment.alice, CALL).json()["status"] == "completed"
    figures = deployment.wait_for(
        lambda: (found := _metrics(deployment))["toolgate_ledger_unsealed_age_seconds"] > 1 and found
    )
    assert figures["toolgate_ledger_unsealed_entries"] >= 2
    assert "sealing refused" in deployment.stack.log("worker")
    assert own.strip() not in deployment.stack.log("worker")
    key.write_text(own)
    deployment.wait_for(lambda: _sealed(deployment) and not _metrics(deployment)["toolgate_ledger_sealing_refused"])
    _check_the_log(deployment)


# --- who reads the private key ---------------------------------------------------------------------------------------
def test_only_the_workers_environment_has_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_LEDGER_KEY", "the key")
    monkeypatch.setenv("TOOLGATE_LEDGER_KEY_FILE", "its file")
    given = commands.processes(configuration.read(), {}, 0)
    given.append(commands.preparation(configuration.read(), {}))
    holders = {each.name for each in given for name in each.environment if name.startswith("TOOLGATE_LEDGER_KEY")}
    assert holders == {"worker"}
    assert {each.name for each in given} == {"web", "worker", "beat", "setup"}


def test_web_and_beat_never_open_the_key(deployment: Deployment, tmp_path: Path) -> None:
    # Whoever opens a pipe that nobody writes to is stuck there, and can be seen to be.
    pipe, directory = tmp_path / "key", tmp_path / "data"
    directory.mkdir()
    for each in (pipe, directory / "ledger.key"):
        os.mkfifo(each, 0o600)
    (directory / "generated.json").write_bytes((_directory(deployment) / "generated.json").read_bytes())
    elsewhere: dict[str, Any] = {"TOOLGATE_DATA_DIR": str(directory), "TOOLGATE_LEDGER_KEY_FILE": str(pipe)}
    stack = Stack(**deployment.environment | elsewhere)
    try:
        stack.start("web")
        stack.start("beat")
        deployment.wait_for(lambda: _answers(stack))
        # The deployment's worker does what this web process asks for.
        done = stack.chat(deployment.alice, CALL).json()
        call = done["tool_calls"][0]["id"]
        for path in ("/metrics", f"/api/v1/tool-calls/{call}/", f"/api/v1/tool-calls/{call}/receipt/", "/history/"):
            assert stack.get(deployment.alice, path).status_code < 400
        deployment.wait_for(lambda: (stack.logs / "beat").exists() or any(stack.logs.glob("beat*")))
        for each in (pipe, directory / "ledger.key"):
            with pytest.raises(OSError) as nobody:
                os.open(each, os.O_WRONLY | os.O_NONBLOCK)
            assert nobody.value.errno == errno.ENXIO
        assert {name for name, process in stack.processes.items() if process.poll() is None} == {"web", "beat"}
    finally:
        for name in list(stack.processes):
            stack.kill(name)


def _answers(stack: Stack) -> bool:
    try:
        return httpx.get(f"{stack.url}/healthz", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False
