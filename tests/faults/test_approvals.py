"""Calls that wait for a human, while everything around them falls: decided once, run once, never forgotten."""

from threading import Barrier, Thread
from typing import Any

import httpx
import pytest

from tests.faults.client import Client, Request
from tests.faults.house import House
from tests.faults.injections import PROCESSES
from tests.faults.invariants import look
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults


@pytest.fixture
def waiting(house: House, remote: Remote) -> tuple[Client, str]:
    """A run that waits for a human, and its request."""
    house.wait_working()
    client = Client(house, f'call: guarded_effect {{"url": "{remote.url}/guarded"}}')
    house.wait_for(lambda: (run := house.run_of(client.key)) and run["status"] == "requires_action")
    [call] = house.calls_of(client.key)
    return client, str(call["approval_id"])


def test_an_approval_goes_through_a_restart_of_everything(
    house: House, remote: Remote, waiting: tuple[Client, str]
) -> None:
    client, number = waiting
    for name in PROCESSES:
        house.stack.kill(name)
    for name in ("valkey", "postgres"):
        house.end_service(name).restart()
    assert house.run_of(client.key)["status"] == "requires_action"
    assert remote.effects == {}
    for name in PROCESSES:
        house.stack.start(name)
    _approved_once(house, remote, client, number)


def test_a_call_approved_while_no_worker_lives_runs_when_one_does(
    house: House, remote: Remote, waiting: tuple[Client, str]
) -> None:
    client, number = waiting
    house.stack.kill("worker")
    approval = Request(house, f"/api/v1/approvals/{number}/approve/", {}, person=house.people["carol"])
    approval.join(PATIENCE_SECONDS)
    assert (approval.status, approval.body["status"]) == (200, "approved")
    assert remote.effects == {}
    house.stack.start("worker")
    _ran_once(house, remote, client)


def test_what_valkey_forgets_between_decision_and_resumption_is_found(
    house: House, remote: Remote, waiting: tuple[Client, str]
) -> None:
    client, number = waiting
    house.stack.kill("worker")
    approval = Request(house, f"/api/v1/approvals/{number}/approve/", {}, person=house.people["carol"])
    approval.join(PATIENCE_SECONDS)
    assert approval.status == 200
    house.valkey().flushall()
    house.stack.start("worker")
    _ran_once(house, remote, client)


def test_of_twenty_decisions_that_race_through_a_kill_one_wins(
    house: House, remote: Remote, waiting: tuple[Client, str]
) -> None:
    client, number = waiting
    line = Barrier(20)
    answers: list[tuple[str, int, dict[str, Any]]] = []

    def decide(person: str, verdict: str) -> None:
        url = f"{house.stack.url}/api/v1/approvals/{number}/{verdict}/"
        with httpx.Client(headers=house.people[person].headers) as connection:
            line.wait()
            answer = connection.post(url, json={})
            answers.append((verdict, answer.status_code, answer.json()))

    racers = [
        Thread(target=decide, args=(("carol", "admin")[at % 2], ("approve", "deny")[at // 2 % 2])) for at in range(20)
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    won = [verdict for verdict, status, _ in answers if status == 200]
    assert sorted(status for _, status, _ in answers) == [200, *[409] * 19]
    assert {body["code"] for _, status, body in answers if status == 409} == {"already_decided"}
    assert len(house.rows("SELECT FROM approval_decisions WHERE request_id = %s", number)) == 1
    house.restart("worker")
    assert house.end_of(client.key)["status"] == "completed"
    client.join(PATIENCE_SECONDS)
    [call] = house.calls_of(client.key)
    assert (call["status"], call["error_code"]) == {
        "approve": ("success", None),
        "deny": ("error", "approval_denied"),
    }[won[0]]
    assert remote.effects == ({"/guarded": 1} if won == ["approve"] else {})
    assert look(house, remote, [client]).wrong() == []


def _approved_once(house: House, remote: Remote, client: Client, number: str) -> None:
    approval = Request(house, f"/api/v1/approvals/{number}/approve/", {}, person=house.people["carol"])
    approval.join(PATIENCE_SECONDS)
    assert (approval.status, approval.body["status"]) == (200, "approved")
    _ran_once(house, remote, client)


def _ran_once(house: House, remote: Remote, client: Client) -> None:
    assert house.end_of(client.key)["status"] == "completed"
    client.join(PATIENCE_SECONDS)
    assert client.status == 200
    [call] = house.calls_of(client.key)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert remote.effects == {"/guarded": 1}
    assert house.ledger_of(call["id"]) == ["proposed", "decided", "settled"]
    assert look(house, remote, [client]).wrong() == []
