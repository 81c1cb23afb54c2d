"""Calls whose effect, and that they have begun and ended, are one commit: who holds their rows locked may be stopped,
killed or cut, and nothing is lost or happens twice."""

import signal
from typing import Any

import pytest

from tests.faults import invariants
from tests.faults.client import Client
from tests.faults.house import House
from tests.faults.injections import QUEUE
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults


def _note(house: House, title: str, more: str = "") -> Client:
    return Client(house, f'call: slow_note {{"title": "{title}"{more}}}')


def _ended(house: House, *clients: Client) -> list[dict[str, Any]]:
    """The clients' calls once their runs are over, and every invariant holds."""
    for each in clients:
        house.end_of(each.key)
        each.join(PATIENCE_SECONDS)
    remote = Remote()
    try:
        assert invariants.look(house, remote, list(clients)).wrong() == []
    finally:
        remote.close()
    calls = [call for each in clients for call in house.calls_of(each.key)]
    assert all(house.ledger_of(call["id"]) == ["proposed", "settled"] for call in calls)
    return calls


def _notes(house: House, title: str) -> int:
    return len(house.rows("SELECT id FROM notes WHERE title = %s", title))


def test_a_stopped_worker_keeps_no_call_locked(house: House) -> None:
    house.wait_working()
    client = _note(house, "stopped", ', "seconds": 2')
    house.wait_for(lambda: house.notes_under_way() == 1)
    house.send_signal("worker", signal.SIGSTOP)
    sleeper = house.stack.processes.pop("worker")
    house.stack.start("worker")
    try:
        [call] = _ended(house, client)
        assert (call["status"], call["attempt"]) == ("success", 1)
        sleeper.send_signal(signal.SIGCONT)
        house.wait_for(lambda: "tools.execute_local left to the sweeper" in house.stack.log("worker"))
        assert house.calls_of(client.key) == [call]
        assert (_notes(house, "stopped"), house.ledger_of(call["id"])) == (1, ["proposed", "settled"])
    finally:
        sleeper.kill()
        sleeper.wait(PATIENCE_SECONDS)


def test_a_call_that_ends_its_worker_each_time_is_tried_four_times_and_then_ends(house: House) -> None:
    house.wait_working()
    client = _note(house, "poison", ', "kills": true')
    deaths = 0

    def over() -> bool:
        nonlocal deaths
        if house.stack.processes["worker"].poll() is not None:
            deaths += 1
            house.stack.start("worker")
        return bool(house.run_of(client.key).get("finished_at"))

    house.wait_for(over)
    [call] = _ended(house, client)
    assert (deaths, call["status"], call["error_code"], call["attempt"]) == (4, "error", "execution_error", 3)
    assert call["error_message"] == "slow_note lost its worker 3 times; it had no effect."
    assert _notes(house, "poison") == 0


def test_calls_whose_messages_are_lost_are_sent_again_and_run_once(house: House) -> None:
    house.wait_working()
    house.stack.kill("worker")
    clients = [_note(house, f"resent {number}") for number in range(3)]
    house.wait_for(lambda: house.valkey().llen(QUEUE) >= 3)
    house.valkey().delete(QUEUE)
    house.stack.start("worker")
    calls = _ended(house, *clients)
    assert [(call["status"], call["attempt"]) for call in calls] == [("success", 1)] * 3
    assert [_notes(house, f"resent {number}") for number in range(3)] == [1, 1, 1]


def test_a_worker_without_a_free_connection_runs_every_call_once(house: House) -> None:
    house.stack.kill("worker")
    house.stack.start("worker", DATABASE_POOL_SIZE="1", DATABASE_POOL_SECONDS="1")
    clients = [_note(house, f"crowded {number}", ', "seconds": 1') for number in range(4)]
    calls = _ended(house, *clients)
    house.restart("worker")
    assert [call["status"] for call in calls] == ["success"] * 4
    assert [_notes(house, f"crowded {number}") for number in range(4)] == [1, 1, 1, 1]


@pytest.mark.parametrize("end", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_call_whose_query_is_cancelled_or_connection_cut_runs_again_and_once(house: House, end: str) -> None:
    house.wait_working()
    client = _note(house, end, ', "asks": 1.5')
    asking = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep($1)%%'"
    [row] = house.wait_for(lambda: house.rows(asking))
    house.rows(f"SELECT {end}(%s)", row["pid"])
    [call] = _ended(house, client)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert _notes(house, end) == 1
    # What is left of the connection troubles nobody.
    house.wait_working()
