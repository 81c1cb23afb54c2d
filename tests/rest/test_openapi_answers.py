"""What Toolgate really answers is what its OpenAPI document says, undocumented fields and statuses included."""

import uuid
from typing import Any

import httpx
import pytest

from tests.approvals.api import decide, overdue
from tests.people import Cast, Person
from tests.rest import sse
from tests.rest.documents import assert_documented, document, named, problems_of
from tests.stack import Stack

NOTE = 'call: save_note {"title": "Milk", "content": "Two litres"}'
MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}'
WRONG = 'call: save_note {"title": 5}\ncall: no_such_tool {}'
RUN = "/api/v1/runs/{run_id}"
EVENT = "/api/v1/approvals/{id}/"


def get(stack: Stack, person: Person, path: str, /, query: dict[str, Any] | None = None, **names: Any) -> Any:
    """A documented answer to a GET; `path` as in the document."""
    answer = stack.get(person, path.format(**names), params=query)
    return assert_documented("GET", path, answer)


def chatted(stack: Stack, person: Person, content: str, **more: Any) -> Any:
    """A documented answer to a chat."""
    return assert_documented("POST", "/api/v1/chat", stack.chat(person, content, **more))


def assert_events(text: str, *last: str) -> list[sse.Event]:
    """The events of a stream, each as documented; `last` are the names of the last ones."""
    events = sse.parse(text)
    for event in events:
        assert problems_of(named("StreamEvent"), {"id": event.id, "event": event.name, "data": event.data}) == []
    assert [event.name for event in events[-len(last) :]] == list(last)
    return events


def test_a_chat_its_run_its_events_and_its_trace_are_as_documented(stack: Stack, tenant: Cast) -> None:
    body = chatted(stack, tenant.alice, f"{NOTE}\n{WRONG}")
    assert [call["status"] for call in body["tool_calls"]] == ["success", "error", "error"]
    assert get(stack, tenant.alice, RUN, run_id=body["run_id"]) == body
    trace = get(stack, tenant.alice, f"{RUN}/trace", run_id=body["run_id"])
    assert [turn["turn"] for turn in trace["tool_trace"]] == [1, 2]
    assert_events(stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}/events").text, "run.completed")


def test_a_streamed_chat_is_as_documented(stack: Stack, tenant: Cast) -> None:
    answer = stack.chat(tenant.alice, NOTE, stream=True)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    events = assert_events(answer.text, "run.completed")
    assert {"run.created", "message.delta", "tool_call.proposed", "tool_call.running", "tool_call.settled"} <= {
        event.name for event in events
    }


def test_a_call_that_waits_and_is_approved_is_as_documented(stack: Stack, tenant: Cast) -> None:
    waiting = chatted(stack, tenant.alice, MAIL)
    [asked] = waiting["required_action"]["approvals"]
    assert_events(stack.chat(tenant.bob, MAIL, stream=True).text, "tool_call.awaiting_approval", "run.requires_action")
    listed = get(stack, tenant.carol, "/api/v1/approvals/", {"status": "pending"})
    assert asked["id"] in [each["id"] for each in listed["results"]]
    get(stack, tenant.carol, EVENT, id=asked["id"])
    edited = {**asked["input"], "subject": "Hello again"}
    answer = decide(stack, tenant.carol, uuid.UUID(asked["id"]), "approve", arguments=edited, reason="fine")
    approved = assert_documented("POST", f"{EVENT}approve/", answer)
    assert approved["decisions"][0]["edit"] == [
        {"op": "replace", "path": "/subject", "before": "Hello", "after": "Hello again"}
    ]
    assert_events(stack.get(tenant.alice, f"/api/v1/runs/{waiting['run_id']}/events").text, "run.completed")
    ran = get(stack, tenant.alice, RUN, run_id=waiting["run_id"])
    assert (ran["status"], ran["required_action"]) == ("completed", None)
    trace = get(stack, tenant.alice, f"{RUN}/trace", run_id=waiting["run_id"])
    assert trace["tool_trace"][0]["tool_calls"][0]["approved_input"] == edited
    [call] = ran["tool_calls"]
    record = get(stack, tenant.alice, "/api/v1/tool-calls/{id}/", id=call["id"])
    assert record["approval_id"] == asked["id"]
    receipt = get(stack, tenant.alice, "/api/v1/tool-calls/{id}/receipt/", id=call["id"])
    assert receipt["approval"]["id"] == asked["id"]


def test_a_denial_a_withdrawal_and_what_comes_too_late_are_as_documented(stack: Stack, tenant: Cast) -> None:
    ids = [chatted(stack, tenant.alice, MAIL)["required_action"]["approvals"][0]["id"] for _ in range(3)]
    denied, withdrawn, late = map(uuid.UUID, ids)
    assert_documented("POST", f"{EVENT}deny/", decide(stack, tenant.carol, denied, "deny", reason="no"))
    assert_documented("POST", f"{EVENT}cancel/", decide(stack, tenant.alice, withdrawn, "cancel"))
    overdue(late)
    statuses = {
        decide(stack, tenant.carol, denied, "approve").status_code: decide(stack, tenant.carol, denied, "approve"),
        decide(stack, tenant.carol, late, "approve").status_code: decide(stack, tenant.carol, late, "approve"),
        decide(stack, tenant.alice, denied, "approve").status_code: decide(stack, tenant.alice, denied, "approve"),
    }
    assert sorted(statuses) == [403, 409, 410]
    for answer in statuses.values():
        assert_documented("POST", f"{EVENT}approve/", answer)


@pytest.mark.parametrize("style", [None, "openai", "anthropic", "gemini", "mcp"])
def test_the_tools_are_as_documented_in_each_style(stack: Stack, tenant: Cast, style: str | None) -> None:
    listed = get(stack, tenant.alice, "/api/v1/tools/", {"style": style} if style else None)
    component = {None: "Tool", "openai": "OpenAITool", "anthropic": "AnthropicTool", "gemini": "GeminiTool"}
    for tool in listed["tools"]:
        assert problems_of(named(component.get(style, "McpTool")), tool) == []


def test_access_is_as_documented_gate_by_gate(stack: Stack, tenant: Cast) -> None:
    held = get(stack, tenant.alice, "/api/v1/tools/{name}/access", name="send_email")
    assert held["gates"][-1]["holds"] is True
    refused = get(stack, tenant.dana, "/api/v1/tools/{name}/access", name="send_email")
    get(stack, tenant.alice, "/api/v1/tools/{name}/access", name="no_such_tool")
    assert {answer["gate"] for answer in held["gates"] + refused["gates"]} <= set(_enum("Gate"))


def test_the_history_is_as_documented(stack: Stack, tenant: Cast) -> None:
    chatted(stack, tenant.alice, f"{NOTE}\n{WRONG}")
    chatted(stack, tenant.alice, NOTE)
    page = get(stack, tenant.alice, "/api/v1/tool-calls/", {"limit": 2})
    assert page["next"] is not None
    for call in page["results"]:
        get(stack, tenant.alice, "/api/v1/tool-calls/{id}/", id=call["id"])
        get(stack, tenant.alice, "/api/v1/tool-calls/{id}/receipt/", id=call["id"])
    conversations = get(stack, tenant.alice, "/api/v1/conversations/")["results"]
    messages = get(stack, tenant.alice, "/api/v1/conversations/{id}/messages/", id=conversations[0]["id"])
    assert [message["role"] for message in messages["results"]] == ["user", "assistant"]


def test_problems_are_as_documented(stack: Stack, tenant: Cast) -> None:
    stranger = {"Authorization": "Bearer tg_wrong"}
    key = {"Idempotency-Key": uuid.uuid4().hex}
    assert stack.chat(tenant.alice, NOTE, headers=key).status_code == 200
    answers = {
        400: stack.chat(tenant.alice, "  "),
        401: stack.chat(tenant.alice, NOTE, headers=stranger),
        404: stack.chat(tenant.alice, NOTE, agent="nobody"),
        413: stack.chat(tenant.alice, "x" * (1024 * 1024 + 1)),
        422: stack.chat(tenant.alice, "another", headers=key),
    }
    for status, answer in answers.items():
        assert answer.status_code == status
        assert_documented("POST", "/api/v1/chat", answer)
    get(stack, tenant.bob, RUN, run_id=uuid.uuid4())
    forbidden = stack.get(tenant.alice, "/api/v1/approvals/")
    assert forbidden.status_code == 403
    assert_documented("GET", "/api/v1/approvals/", forbidden)
    created = httpx.post(f"{stack.url}/api/v1/conversations/", json={"title": "x" * 201}, headers=tenant.alice.headers)
    assert created.status_code == 400
    assert_documented("POST", "/api/v1/conversations/", created)


def _enum(component: str) -> list[str]:
    values: list[str] = document()["components"]["schemas"][component]["enum"]
    return values
