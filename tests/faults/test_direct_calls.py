"""Calls without a chat, while everything around them falls: the same call, run once, for who asks again."""

from pathlib import Path
from typing import Any

import pytest

from tests.faults.client import Request
from tests.faults.deployment import Deployment
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults

_OF_KEY = """
    SELECT c.* FROM idempotency_keys k JOIN tool_calls c ON c.id = k.call_id WHERE k.key = %s"""


def _calls(deployment: Deployment, tool: str, url: str) -> list[dict[str, Any]]:
    query = "SELECT * FROM tool_calls WHERE origin = 'api' AND tool_name = %s AND input ->> 'url' = %s"
    return deployment.rows(query, tool, url)


def _call(deployment: Deployment, tool: str, url: str) -> Request:
    """One that is sent, under its key, until it is answered."""
    return Request(deployment, f"/api/v1/tools/{tool}/calls", {"arguments": {"url": url}})


def _ended(deployment: Deployment, request: Request) -> dict[str, Any]:
    """The call that the request's key is bound to, once both have ended."""
    request.join(PATIENCE_SECONDS)
    assert request.status == 200, request.body
    [call] = deployment.rows(_OF_KEY, request.key)
    assert request.body["id"] == str(call["id"])
    return call


def test_a_worker_lost_inside_a_database_tool_costs_nothing(deployment: Deployment, tmp_path: Path) -> None:
    deployment.wait_working()
    arguments = {"title": "direct", "until": f"{tmp_path}/now"}
    request = Request(deployment, "/api/v1/tools/slow_note/calls", {"arguments": arguments})
    deployment.wait_for(lambda: deployment.notes_under_way() == 1)
    deployment.stack.kill("worker")
    (tmp_path / "now").touch()
    assert deployment.rows("SELECT * FROM notes WHERE title = 'direct'") == []
    deployment.stack.start("worker")
    call = _ended(deployment, request)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert len(deployment.rows("SELECT * FROM notes WHERE title = 'direct'")) == 1
    assert deployment.ledger_of(call["id"]) == ["proposed", "settled"]


def test_a_worker_lost_after_an_effect_may_have_begun_is_never_retried(deployment: Deployment, remote: Remote) -> None:
    deployment.wait_working()
    request = _call(deployment, "slow_effect", f"{remote.url}/held/direct")
    assert remote.reached.wait(PATIENCE_SECONDS)
    deployment.stack.kill("worker")
    remote.gate.set()
    deployment.stack.start("worker")
    call = _ended(deployment, request)
    assert (call["status"], call["error_code"]) == ("error", "outcome_unknown")
    assert remote.effects == {"/held/direct": 1}


def test_who_asks_again_after_the_web_process_was_killed_gets_the_same_call(
    deployment: Deployment, remote: Remote
) -> None:
    deployment.wait_working()
    url = f"{remote.url}/held/again"
    request = _call(deployment, "slow_effect", url)
    assert remote.reached.wait(PATIENCE_SECONDS)
    deployment.restart("web")
    remote.gate.set()
    call = _ended(deployment, request)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert [each["id"] for each in _calls(deployment, "slow_effect", url)] == [call["id"]]
    assert remote.effects == {"/held/again": 1}


def test_an_approved_call_runs_once_although_its_worker_and_its_message_were_lost(
    deployment: Deployment, remote: Remote
) -> None:
    deployment.wait_working()
    url = f"{remote.url}/guarded"
    request = _call(deployment, "guarded_effect", url)
    [waiting] = deployment.wait_for(lambda: _calls(deployment, "guarded_effect", url))
    deployment.stack.kill("worker")
    number = waiting["approval_id"]
    approval = Request(deployment, f"/api/v1/approvals/{number}/approve/", {}, person=deployment.people["carol"])
    approval.join(PATIENCE_SECONDS)
    assert (approval.status, approval.body["status"]) == (200, "approved")
    deployment.valkey().flushall()
    assert remote.effects == {}
    deployment.stack.start("worker")
    call = _ended(deployment, request)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert remote.effects == {"/guarded": 1}
    assert deployment.ledger_of(call["id"]) == ["proposed", "decided", "settled"]
    [asked] = deployment.rows("SELECT used_at FROM approval_requests WHERE id = %s", number)
    assert asked["used_at"] is not None


@pytest.mark.parametrize("lost", ["while it waits", "just after the answer"])
def test_a_call_that_asks_outlives_everything_around_it_and_has_its_effect_once(
    deployment: Deployment, remote: Remote, lost: str
) -> None:
    deployment.wait_working()
    url = f"{remote.url}/asked/{lost.replace(' ', '-')}"
    # Sent again, under its key, until the call is final.
    request = _call(deployment, "asking_effect", url)
    [call] = deployment.wait_for(lambda: _calls(deployment, "asking_effect", url))
    [question] = deployment.wait_for(lambda: deployment.rows("SELECT * FROM questions WHERE call_id = %s", call["id"]))
    deployment.stack.kill("worker")
    if lost == "while it waits":
        deployment.restart("web")
        deployment.valkey().flushall()
        deployment.stack.start("worker")
        deployment.wait_working()
    path = f"/api/v1/questions/{question['id']}/answer/"
    answer = Request(deployment, path, {"action": "accept", "content": {"ok": True}})
    answer.join(PATIENCE_SECONDS)
    # An answer whose answer was lost is sent again, and is told that it was taken.
    assert answer.status in (200, 409), answer.body
    if lost == "just after the answer":
        deployment.valkey().flushall()
        deployment.restart("web")
        deployment.stack.start("worker")
    ended = _ended(deployment, request)
    assert (ended["status"], ended["attempt"], ended["id"]) == ("success", 1, call["id"])
    assert remote.effects == {url.removeprefix(remote.url): 1}
    assert deployment.ledger_of(call["id"]) == ["proposed", "answered", "settled"]
