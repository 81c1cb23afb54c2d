"""Calls whose effect, and that they have begun and ended, are one commit: who holds their rows locked may be stopped,
killed or cut, and nothing is lost or happens twice."""

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.faults import invariants
from tests.faults.client import Client
from tests.faults.deployment import Deployment
from tests.faults.injections import QUEUE
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults


def _note(deployment: Deployment, title: str, more: str = "") -> Client:
    return Client(deployment, f'call: slow_note {{"title": "{title}"{more}}}')


def _ended(deployment: Deployment, *clients: Client) -> list[dict[str, Any]]:
    """The clients' calls once their runs are over, and every invariant holds."""
    for each in clients:
        deployment.end_of(each.key)
        each.join(PATIENCE_SECONDS)
    remote = Remote()
    try:
        assert invariants.look(deployment, remote, list(clients)).wrong() == []
    finally:
        remote.close()
    calls = [call for each in clients for call in deployment.calls_of(each.key)]
    assert all(deployment.ledger_of(call["id"]) == ["proposed", "settled"] for call in calls)
    return calls


def _notes(deployment: Deployment, title: str) -> int:
    return len(deployment.rows("SELECT id FROM notes WHERE title = %s", title))


def _messages(deployment: Deployment) -> int:
    """How many calls are in the queue; beat's messages are there, too."""
    return sum(b'"task":"tools.execute_local"' in each for each in deployment.valkey().lrange(QUEUE, 0, -1))


def test_a_stopped_worker_keeps_no_call_locked(deployment: Deployment, tmp_path: Path) -> None:
    deployment.wait_working()
    client = _note(deployment, "stopped", f', "until": "{tmp_path}/now"')
    deployment.wait_for(lambda: deployment.notes_under_way() == 1)
    deployment.send_signal("worker", signal.SIGSTOP)
    sleeper = deployment.stack.processes.pop("worker")
    (tmp_path / "now").touch()
    deployment.stack.start("worker")
    try:
        [call] = _ended(deployment, client)
        assert (call["status"], call["attempt"]) == ("success", 1)
        sleeper.send_signal(signal.SIGCONT)
        deployment.wait_for(lambda: "tools.execute_local left to the sweeper" in deployment.stack.log("worker"))
        assert deployment.calls_of(client.key) == [call]
        assert (_notes(deployment, "stopped"), deployment.ledger_of(call["id"])) == (1, ["proposed", "settled"])
    finally:
        sleeper.kill()
        sleeper.wait(PATIENCE_SECONDS)


def test_a_call_that_ends_its_worker_each_time_is_tried_four_times_and_then_ends(deployment: Deployment) -> None:
    deployment.wait_working()
    client = _note(deployment, "poison", ', "kills": true')
    deaths = 0

    def over() -> bool:
        nonlocal deaths
        if deployment.stack.processes["worker"].poll() is not None:
            deaths += 1
            deployment.stack.start("worker")
        return bool(deployment.run_of(client.key).get("finished_at"))

    deployment.wait_for(over)
    [call] = _ended(deployment, client)
    assert (deaths, call["status"], call["error_code"], call["attempt"]) == (4, "error", "execution_error", 3)
    assert call["error_message"] == "slow_note lost its worker 3 times; it had no effect."
    assert _notes(deployment, "poison") == 0


def test_calls_whose_messages_are_lost_are_sent_again_and_run_once(deployment: Deployment) -> None:
    deployment.wait_working()
    deployment.stack.kill("worker")
    clients = [_note(deployment, f"resent {number}") for number in range(3)]
    deployment.wait_for(lambda: _messages(deployment) == 3)
    deployment.valkey().delete(QUEUE)
    deployment.stack.start("worker")
    calls = _ended(deployment, *clients)
    assert [(call["status"], call["attempt"]) for call in calls] == [("success", 1)] * 3
    assert [_notes(deployment, f"resent {number}") for number in range(3)] == [1, 1, 1]


def test_a_worker_without_a_free_connection_runs_every_call_once(deployment: Deployment) -> None:
    deployment.stack.kill("worker")
    deployment.stack.start("worker", DATABASE_POOL_SIZE="1", DATABASE_POOL_SECONDS="1")
    # Each of them gets a connection before its attempts are used up, whichever goes first.
    clients = [_note(deployment, f"crowded {number}", ', "seconds": 1') for number in range(3)]
    calls = _ended(deployment, *clients)
    deployment.restart("worker")
    assert [call["status"] for call in calls] == ["success"] * 3
    assert [_notes(deployment, f"crowded {number}") for number in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("end", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_call_whose_query_is_cancelled_or_connection_cut_runs_again_and_once(
    deployment: Deployment, end: str, tmp_path: Path
) -> None:
    deployment.wait_working()
    client = _note(deployment, end, f', "asks": 60, "until": "{tmp_path}/now"')
    asking = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep($1)%%'"
    [row] = deployment.wait_for(lambda: deployment.rows(asking))
    # The second time it asks nothing.
    (tmp_path / "now").touch()
    deployment.rows(f"SELECT {end}(%s)", row["pid"])
    [call] = _ended(deployment, client)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert _notes(deployment, end) == 1
    # What is left of the connection troubles nobody.
    deployment.wait_working()
