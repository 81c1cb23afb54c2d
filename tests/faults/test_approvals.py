"""Calls that wait for a human, while everything around them falls: decided once, run once, never forgotten."""

from threading import Barrier, Thread
from typing import Any

import httpx
import pytest

from tests.faults.client import Client, Request
from tests.faults.deployment import Deployment
from tests.faults.injections import PROCESSES
from tests.faults.invariants import look
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults


@pytest.fixture
def waiting(deployment: Deployment, remote: Remote) -> tuple[Client, str]:
    """A run that waits for a human, and its request."""
    deployment.wait_working()
    client = Client(deployment, f'call: guarded_effect {{"url": "{remote.url}/guarded"}}')
    deployment.wait_for(lambda: (run := deployment.run_of(client.key)) and run["status"] == "requires_action")
    [call] = deployment.calls_of(client.key)
    return client, str(call["approval_id"])


def test_an_approval_goes_through_a_restart_of_everything(
    deployment: Deployment, remote: Remote, waiting: tuple[Client, str]
) -> None:
    client, number = waiting
    for name in PROCESSES:
        deployment.stack.kill(name)
    for name in ("valkey", "postgres"):
        deployment.end_service(name).restart()
    assert deployment.run_of(client.key)["status"] == "requires_action"
    assert remote.effects == {}
    for name in PROCESSES:
        deployment.stack.start(name)
    _approved_once(deployment, remote, client, number)


def test_a_call_approved_while_no_worker_lives_runs_when_one_does(
    deployment: Deployment, remote: Remote, waiting: tuple[Client, str]
) -> None:
    client, number = waiting
    deployment.stack.kill("worker")
    approval = Request(deployment, f"/api/v1/approvals/{number}/approve/", {}, person=deployment.people["carol"])
    approval.join(PATIENCE_SECONDS)
    assert (approval.status, approval.body["status"]) == (200, "approved")
    assert remote.effects == {}
    deployment.stack.start("worker")
    _ran_once(deployment, remote, client)


def test_what_valkey_forgets_between_decision_and_resumption_is_found(
    deployment: Deployment, remote: Remote, waiting: tuple[Client, str]
) -> None:
    client, number = waiting
    deployment.stack.kill("worker")
    approval = Request(deployment, f"/api/v1/approvals/{number}/approve/", {}, person=deployment.people["carol"])
    approval.join(PATIENCE_SECONDS)
    assert approval.status == 200
    deployment.valkey().flushall()
    deployment.stack.start("worker")
    _ran_once(deployment, remote, client)


def test_of_twenty_decisions_that_race_through_a_kill_one_wins(
    deployment: Deployment, remote: Remote, waiting: tuple[Client, str]
) -> None:
    client, number = waiting
    line = Barrier(20)
    answers: list[tuple[str, int, dict[str, Any]]] = []

    def decide(person: str, verdict: str) -> None:
        url = f"{deployment.stack.url}/api/v1/approvals/{number}/{verdict}/"
        with httpx.Client(headers=deployment.people[person].headers) as connection:
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
    assert len(deployment.rows("SELECT FROM approval_decisions WHERE request_id = %s", number)) == 1
    deployment.restart("worker")
    assert deployment.end_of(client.key)["status"] == "completed"
    client.join(PATIENCE_SECONDS)
    [call] = deployment.calls_of(client.key)
    assert (call["status"], call["error_code"]) == {
        "approve": ("success", None),
        "deny": ("error", "approval_denied"),
    }[won[0]]
    assert remote.effects == ({"/guarded": 1} if won == ["approve"] else {})
    assert look(deployment, remote, [client]).wrong() == []


def _approved_once(deployment: Deployment, remote: Remote, client: Client, number: str) -> None:
    approval = Request(deployment, f"/api/v1/approvals/{number}/approve/", {}, person=deployment.people["carol"])
    approval.join(PATIENCE_SECONDS)
    assert (approval.status, approval.body["status"]) == (200, "approved")
    _ran_once(deployment, remote, client)


def _ran_once(deployment: Deployment, remote: Remote, client: Client) -> None:
    assert deployment.end_of(client.key)["status"] == "completed"
    client.join(PATIENCE_SECONDS)
    assert client.status == 200
    [call] = deployment.calls_of(client.key)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert remote.effects == {"/guarded": 1}
    assert deployment.ledger_of(call["id"]) == ["proposed", "decided", "settled"]
    assert look(deployment, remote, [client]).wrong() == []
