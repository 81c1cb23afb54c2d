"""Calls without a chat, while everything around them falls: the same call, run once, for who asks again."""

from typing import Any

import pytest

from tests.faults.client import Request
from tests.faults.house import House
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults

_OF_KEY = """
    SELECT c.* FROM idempotency_keys k JOIN tool_calls c ON c.id = k.call_id WHERE k.key = %s"""


def _calls(house: House, tool: str, url: str) -> list[dict[str, Any]]:
    query = "SELECT * FROM tool_calls WHERE origin = 'api' AND tool_name = %s AND input ->> 'url' = %s"
    return house.rows(query, tool, url)


def _call(house: House, tool: str, url: str) -> Request:
    """One that is sent, under its key, until it is answered."""
    return Request(house, f"/api/v1/tools/{tool}/calls", {"arguments": {"url": url}})


def _ended(house: House, request: Request) -> dict[str, Any]:
    """The call that the request's key is bound to, once both have ended."""
    request.join(PATIENCE_SECONDS)
    assert request.status == 200, request.body
    [call] = house.rows(_OF_KEY, request.key)
    assert request.body["id"] == str(call["id"])
    return call


def test_a_worker_lost_inside_a_database_tool_costs_nothing(house: House) -> None:
    house.wait_working()
    arguments = {"title": "direct", "seconds": 2}
    request = Request(house, "/api/v1/tools/slow_note/calls", {"arguments": arguments})
    house.wait_for(lambda: house.notes_under_way() == 1)
    house.stack.kill("worker")
    assert house.rows("SELECT * FROM notes WHERE title = 'direct'") == []
    house.stack.start("worker")
    call = _ended(house, request)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert len(house.rows("SELECT * FROM notes WHERE title = 'direct'")) == 1
    assert house.ledger_of(call["id"]) == ["proposed", "settled"]


def test_a_worker_lost_after_an_effect_may_have_begun_is_never_retried(house: House, remote: Remote) -> None:
    house.wait_working()
    request = _call(house, "slow_effect", f"{remote.url}/held/direct")
    assert remote.reached.wait(PATIENCE_SECONDS)
    house.stack.kill("worker")
    remote.gate.set()
    house.stack.start("worker")
    call = _ended(house, request)
    assert (call["status"], call["error_code"]) == ("error", "outcome_unknown")
    assert remote.effects == {"/held/direct": 1}


def test_who_asks_again_after_the_web_process_was_killed_gets_the_same_call(house: House, remote: Remote) -> None:
    house.wait_working()
    url = f"{remote.url}/held/again"
    request = _call(house, "slow_effect", url)
    assert remote.reached.wait(PATIENCE_SECONDS)
    house.restart("web")
    remote.gate.set()
    call = _ended(house, request)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert [each["id"] for each in _calls(house, "slow_effect", url)] == [call["id"]]
    assert remote.effects == {"/held/again": 1}


def test_an_approved_call_runs_once_although_its_worker_and_its_message_were_lost(house: House, remote: Remote) -> None:
    house.wait_working()
    url = f"{remote.url}/guarded"
    request = _call(house, "guarded_effect", url)
    [waiting] = house.wait_for(lambda: _calls(house, "guarded_effect", url))
    house.stack.kill("worker")
    number = waiting["approval_id"]
    approval = Request(house, f"/api/v1/approvals/{number}/approve/", {}, person=house.people["carol"])
    approval.join(PATIENCE_SECONDS)
    assert (approval.status, approval.body["status"]) == (200, "approved")
    house.valkey().flushall()
    assert remote.effects == {}
    house.stack.start("worker")
    call = _ended(house, request)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert remote.effects == {"/guarded": 1}
    assert house.ledger_of(call["id"]) == ["proposed", "decided", "settled"]
    [asked] = house.rows("SELECT used_at FROM approval_requests WHERE id = %s", number)
    assert asked["used_at"] is not None
