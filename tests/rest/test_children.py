"""Runs that begin others, over HTTP: the tree, requests from below, streams, and what becomes of a conversation."""

import json
import uuid
from typing import Any

import httpx

from tests.database import rows
from tests.gateway.runs.children.family import MAIL, subagent
from tests.people import Cast, Person
from tests.rest import sse
from tests.stack import Stack
from tests.waiting import until


def _get(stack: Stack, person: Person, run: str, more: str = "") -> Any:
    return stack.get(person, f"/api/v1/runs/{run}{more}")


def test_the_tree_has_each_run_in_its_place_and_is_its_users_alone(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, f"{subagent(subagent('Hello.'))}\n{subagent('Hello.')}").json()
    assert [call["status"] for call in body["tool_calls"]] == ["success", "success"]
    found = _get(stack, tenant.alice, body["run_id"], "/tree").json()
    first, second = sorted(found["children"], key=lambda child: len(child["children"]), reverse=True)
    assert (found["run_id"], found["depth"], found["kind"], found["parent_run_id"]) == (body["run_id"], 0, "main", None)
    assert {first["run_id"], second["run_id"]} == {call["output"]["run_id"] for call in body["tool_calls"]}
    assert [child["parent_run_id"] for child in (first, second)] == [body["run_id"]] * 2
    assert [(child["depth"], child["kind"], child["status"]) for child in (first, *first["children"])] == [
        (1, "worker", "completed"),
        (2, "worker", "completed"),
    ]
    assert second["children"] == []
    for person in (tenant.bob, tenant.olga):
        assert _get(stack, person, body["run_id"], "/tree").status_code == 404
    assert _get(stack, tenant.alice, str(uuid.uuid4()), "/tree").status_code == 404


def test_a_stream_tells_of_a_request_from_below_and_of_the_end_once_it_is_decided(stack: Stack, tenant: Cast) -> None:
    url, body = f"{stack.url}/api/v1/chat", {"content": subagent(MAIL), "stream": True}
    seen: list[sse.Event] = []
    with httpx.stream("POST", url, json=body, headers=tenant.alice.headers) as answer:
        seen += [event for event in sse.live(answer) if isinstance(event, sse.Event)]
    last = seen[-1]
    assert (last.name, last.data["status"]) == ("run.requires_action", "requires_action")
    [request] = last.data["required_action"]["approvals"]
    run = last.data["run_id"]
    assert request["path"] == [request["run_id"]] and request["run_id"] != run
    # What has happened is told again to who comes later, and ends where it does.
    decided = httpx.post(
        f"{stack.url}/api/v1/approvals/{request['id']}/approve/", json={}, headers=tenant.carol.headers
    )
    assert decided.status_code == 200
    events = sse.parse(_get(stack, tenant.alice, run, "/events").text)
    assert events[-1].name == "run.completed"
    assert [event.name for event in events].count("run.requires_action") == 1
    [call] = events[-1].data["tool_calls"]
    assert (call["tool"], call["status"]) == ("subagent", "success")
    assert [row["status"] for row in rows("SELECT status FROM runs WHERE tenant_id = %(t)s", t=tenant.id)] == [
        "completed",
        "completed",
    ]


def test_conversations_of_children_are_in_no_list_and_go_with_the_one_that_began_them(
    stack: Stack, tenant: Cast
) -> None:
    body = stack.chat(tenant.alice, subagent("Hello.")).json()
    listed = stack.get(tenant.alice, "/api/v1/conversations/").json()["results"]
    assert [each["id"] for each in listed] == [body["conversation_id"]]
    other = stack.chat(tenant.alice, "hello").json()["conversation_id"]
    gone = httpx.delete(
        f"{stack.url}/api/v1/conversations/{body['conversation_id']}/?erase=true", headers=tenant.alice.headers
    )
    assert gone.status_code == 204
    left = rows("SELECT id FROM conversations WHERE tenant_id = %(t)s", t=tenant.id)
    assert [str(each["id"]) for each in left] == [other]
    assert len(rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id)) == 1


def test_a_conversation_is_not_deleted_from_under_a_child(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, subagent(MAIL)).json()
    where = f"{stack.url}/api/v1/conversations/{body['conversation_id']}/"
    assert httpx.delete(where, headers=tenant.alice.headers).status_code == 409
    httpx.post(f"{stack.url}/api/v1/runs/{body['run_id']}/cancel", headers=tenant.alice.headers)
    assert until(lambda: httpx.delete(where, headers=tenant.alice.headers).status_code == 204)
    assert rows("SELECT id FROM conversations WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_a_branch_over_rest_is_a_conversation_of_its_users_alone(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, "hello").json()
    where = f"{stack.url}/api/v1/conversations/{body['conversation_id']}/branch/"
    made = httpx.post(where, json={"run_id": body["run_id"], "title": "Again"}, headers=tenant.alice.headers)
    assert made.status_code == 201, made.text
    assert (made.json()["kind"], made.json()["parent_id"], made.json()["title"]) == (
        "branch",
        body["conversation_id"],
        "Again",
    )
    said = httpx.patch(
        f"{stack.url}/api/v1/conversations/{made.json()['id']}/", json={"labels": ["try"]}, headers=tenant.alice.headers
    )
    assert said.json()["labels"] == ["try"]
    refused = httpx.post(where, json={"run_id": str(uuid.uuid4())}, headers=tenant.alice.headers)
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert httpx.post(where, json={"title": "x" * 201}, headers=tenant.alice.headers).status_code == 400
    for person in (tenant.bob, tenant.olga):
        assert httpx.post(where, json={}, headers=person.headers).status_code == 404
    assert len(rows("SELECT id FROM conversations WHERE tenant_id = %(t)s", t=tenant.id)) == 2


def test_a_run_that_waited_for_others_can_be_replayed(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, f"{subagent('Hello.')}\nthen:\n{subagent('Again.')}").json()
    assert [call["status"] for call in body["tool_calls"]] == ["success", "success"]
    answer = _get(stack, tenant.alice, body["run_id"], "/replay")
    assert answer.status_code == 200
    events = [json.loads(line) for line in answer.text.splitlines()]
    assert [event["turn"] for event in events if event["event"] == "Turn"] == [1, 2, 3]
