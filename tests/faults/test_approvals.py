"""Calls that wait for a human, while everything around them falls: decided once, run once, never forgotten."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

import httpx
import pytest

from tests.faults import trees
from tests.faults.client import Client, Request
from tests.faults.deployment import Deployment
from tests.faults.injections import PROCESSES
from tests.faults.invariants import look
from tests.faults.remote import Remote
from tests.gateway.runs.children.family import subagent
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults
_OF_TREE = """runs r JOIN runs root ON root.id = coalesce(r.root_run_id, r.id) LEFT JOIN tool_calls began
    ON began.id = r.parent_call_id"""
# The runs of a tree, and then their calls, the first begun first.
_TREE = f"""
    SELECT name, status FROM (
        SELECT 0 AS part, r.depth, began.position AS among, 0 AS position, r.status,
            coalesce('worker ' || 1 + began.position, 'parent') AS name
        FROM {_OF_TREE} WHERE root.idempotency_key = %s
        UNION ALL SELECT 1, r.depth, began.position, c.position, c.status, c.tool_name
        FROM {_OF_TREE} JOIN tool_calls c ON c.run_id = r.id WHERE root.idempotency_key = %s) every
    ORDER BY part, depth, among, position"""
_PENDING = f"""
    SELECT a.id FROM {_OF_TREE} JOIN approval_requests a ON a.run_id = r.id
    WHERE root.idempotency_key = %s AND a.status = 'pending'"""


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


def test_a_parent_of_two_workers_goes_on_through_a_restart_of_everything_once_the_one_that_asked_is_approved(
    deployment: Deployment, remote: Remote, record_property: Callable[[str, object], None]
) -> None:
    deployment.wait_working()
    tools = {"slow_effect": "free", "guarded_effect": "guarded"}
    tasks = [f'call: {tool} {{"url": "{remote.url}/{place}"}}' for tool, place in tools.items()]
    client = Client(deployment, "\n".join(map(subagent, tasks)))
    said: list[str] = []

    def tree() -> list[tuple[str, str]]:
        """Each run of the tree with its status, and each call, the first begun first; what is new is said."""
        found = [(row["name"], row["status"]) for row in deployment.rows(_TREE, client.key, client.key)]
        now = ", ".join(f"{name} {status}" for name, status in found)
        said.extend([now] if now not in said[-1:] else [])
        return found

    parked = [("parent", "waiting"), ("worker 1", "completed"), ("worker 2", "requires_action")]
    calls = [("subagent", "success"), ("subagent", "running"), ("slow_effect", "success")]
    waits = [*parked, *calls, ("guarded_effect", "awaiting_approval")]
    # Parked once more since the first worker ended: nobody takes the parent over before the second one does.
    deployment.wait_for(lambda: tree() == waits and deployment.run_of(client.key)["open_calls"] == 1)
    said.append("killed: web, worker, beat, Valkey, PostgreSQL")
    for name in PROCESSES:
        deployment.stack.kill(name)
    for name in ("valkey", "postgres"):
        deployment.end_service(name).restart()
    assert tree() == waits
    for name in PROCESSES:
        deployment.stack.start(name)
    [pending] = deployment.rows(_PENDING, client.key)
    said.append("all of it started again, and the request approved")
    approval = Request(deployment, f"/api/v1/approvals/{pending['id']}/approve/", {}, person=deployment.people["carol"])
    approval.join(PATIENCE_SECONDS)
    assert (approval.status, approval.body["status"]) == (200, "approved")
    over = [(name, "completed") for name, _ in parked] + [(name, "success") for name, _ in (*calls, waits[-1])]
    deployment.wait_for(lambda: tree() == over)
    client.join(PATIENCE_SECONDS)
    assert (client.status, [call["status"] for call in client.body["tool_calls"]]) == (200, ["success", "success"])
    assert remote.effects == {"/free": 1, "/guarded": 1}
    assert trees.check(deployment, remote, [client]).wrong() == []
    record_property("transcript", said)


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
