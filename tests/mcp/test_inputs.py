"""Calls that ask, as MCP clients are asked: in the result, on the stream, by a task, or not at all."""

import json
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.database import rows
from tests.mcp.raw import OLD, TASKS, Mcp
from tests.people import Cast, Person
from tests.waiting import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("mcp")

TOOL = "test_input_required_result_elicitation"
FORM = {"elicitation": {"form": {}}}
ACCEPTED = {"user_name": {"action": "accept", "content": {"name": "Ada"}}}


class _Asked(Mcp):
    """A client that declares what it can be asked."""

    def __init__(self, url: str, person: Person, capabilities: dict[str, Any], **more: Any) -> None:
        super().__init__(url, person, **more)
        self._declared = capabilities

    def message(self, method: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        body, headers = super().message(method, params)
        if self.modern:
            name = "io.modelcontextprotocol/clientCapabilities"
            body["params"]["_meta"][name] = {**body["params"]["_meta"][name], **self._declared}
        return body, headers


def _calls(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM tool_calls WHERE tenant_id = %(id)s ORDER BY id", id=tenant.id)


def _questions(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM questions WHERE tenant_id = %(id)s ORDER BY id", id=tenant.id)


def test_a_call_that_asks_is_one_call_over_all_its_requests(served: "Stack", tenant: Cast) -> None:
    alice = _Asked(served.url, tenant.alice, FORM)
    asked = alice.call(TOOL)
    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"]["user_name"]["method"] == "elicitation/create"
    assert asked["inputRequests"]["user_name"]["params"]["message"] == "What is your name?"
    [call] = _calls(tenant)
    assert (call["status"], str(call["id"]) in asked["requestState"]) == ("running", False)
    answered = alice.call(TOOL, inputResponses=ACCEPTED, requestState=asked["requestState"])
    assert "state-ok {'user_name': ['accept', {'name': 'Ada'}]}" in answered["content"][0]["text"]
    [question] = _questions(tenant)
    assert (len(_calls(tenant)), question["via"], question["action"]) == (1, "mcp", "accept")
    # Sent once more, as after a connection that broke: the same result, and nothing is sent to the tool.
    again = alice.call(TOOL, inputResponses=ACCEPTED, requestState=asked["requestState"])
    assert (again, len(_calls(tenant))) == (answered, 1)


@pytest.mark.parametrize("whose", ["bob", "other arguments", "other tool", "tampered", "nonsense"])
def test_a_state_goes_on_with_its_own_call_alone(served: "Stack", tenant: Cast, whose: str) -> None:
    alice, bob = (_Asked(served.url, person, FORM) for person in (tenant.alice, tenant.bob))
    state = alice.call(TOOL)["requestState"]
    caller = bob if whose == "bob" else alice
    name = "test_input_required_result_request_state" if whose == "other tool" else TOOL
    arguments = {"x": 1} if whose == "other arguments" else {}
    state = {"tampered": f"{state}-x", "nonsense": "x"}.get(whose, state)
    params = {"name": name, "arguments": arguments, "inputResponses": ACCEPTED, "requestState": state}
    assert caller.error("tools/call", params)["code"] == -32602
    [question] = _questions(tenant)
    assert (question["status"], len(_calls(tenant))) == ("pending", 1)


def test_what_does_not_fit_the_schema_is_asked_again(served: "Stack", tenant: Cast) -> None:
    alice = _Asked(served.url, tenant.alice, FORM)
    state = alice.call(TOOL)["requestState"]
    wrong = {"user_name": {"action": "accept", "content": {"name": 1}}}
    asked = alice.call(TOOL, inputResponses=wrong, requestState=state)
    assert (asked["resultType"], list(asked["inputRequests"])) == ("input_required", ["user_name"])
    assert _questions(tenant)[0]["status"] == "pending"


def test_a_client_that_cannot_be_asked_is_told_where_to_answer_and_gets_the_result_afterwards(
    served: "Stack", tenant: Cast
) -> None:
    alice = Mcp(served.url, tenant.alice)
    shown = alice.call(TOOL)
    [question] = _questions(tenant)
    error = shown["structuredContent"]["error"]
    assert (shown["isError"], error["code"]) == (True, "input_required")
    assert f"/questions/{question['id']}/" in error["message"] and "What is your name?" in error["message"]
    answer = {"action": "accept", "content": {"name": "Ada"}}
    url = f"{served.url}/api/v1/questions/{question['id']}/answer/"
    given = httpx.post(url, json=answer, headers=tenant.alice.headers)
    assert (given.status_code, given.json()["status"]) == (200, "answered")
    until(lambda: _calls(tenant)[0]["status"] == "success")
    result = alice.call(TOOL)
    assert (result["isError"], len(_calls(tenant))) == (False, 1)


def test_what_only_a_client_can_answer_is_demanded_of_it_and_the_call_ends(served: "Stack", tenant: Cast) -> None:
    alice = _Asked(served.url, tenant.alice, FORM)
    params = {"name": "test_input_required_result_sampling", "arguments": {}}
    error = alice.error("tools/call", params)
    assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": {"sampling": {}}})
    [call] = _calls(tenant)
    assert (call["status"], call["error_code"], _questions(tenant)[0]["status"]) == ("error", "cancelled", "cancelled")


def test_a_task_whose_call_asks_has_input_requests_and_takes_the_responses(served: "Stack", tenant: Cast) -> None:
    capabilities = {"extensions": {TASKS: {}}}
    alice = _Asked(served.url, tenant.alice, capabilities, tasks=True)
    task_id = alice.call(TOOL)["taskId"]
    asking = _Asked(served.url, tenant.alice, {**capabilities, **FORM}, tasks=True)
    # A task may be given out before a busy worker has begun with it.
    state = until(lambda: (found := asking.result("tasks/get", {"taskId": task_id}))["status"] != "working" and found)
    assert state and (state["status"], list(state["inputRequests"])) == ("input_required", ["user_name"])
    assert asking.result("tasks/update", {"taskId": task_id, "inputResponses": ACCEPTED})["resultType"] == "complete"
    until(lambda: _calls(tenant)[0]["status"] == "success")
    assert asking.result("tasks/get", {"taskId": task_id})["status"] == "completed"


# --- revisions with initialize ---------------------------------------------------------------------------------------
def _session(alice: Mcp, capabilities: dict[str, Any]) -> str:
    params = {"protocolVersion": OLD, "capabilities": capabilities, "clientInfo": {"name": "tests", "version": "1"}}
    return str(alice.post("initialize", params).headers["mcp-session-id"])


class _Stream:
    """The messages of a call's stream, as they come."""

    def __init__(self, alice: Mcp, session: str) -> None:
        self.messages: list[dict[str, Any]] = []
        self._alice, self._session = alice, session
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        body, headers = self._alice.message("tools/call", {"name": TOOL, "arguments": {}})
        headers |= {"mcp-session-id": self._session}
        with httpx.stream("POST", self._alice.url, json=body, headers=headers, timeout=PATIENCE_SECONDS) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: {"):
                    self.messages.append(json.loads(line.removeprefix("data: ")))

    def first(self, name: str) -> dict[str, Any]:
        return until(lambda: next((each for each in self.messages if name in each), None)) or {}


def test_a_client_with_a_session_is_asked_on_the_calls_stream(served: "Stack", tenant: Cast) -> None:
    alice = Mcp(served.url, tenant.alice, OLD)
    stream = _Stream(alice, _session(alice, {"elicitation": {}}))
    asked = stream.first("method")
    [question] = _questions(tenant)
    assert (asked["method"], asked["id"]) == ("elicitation/create", str(question["id"]))
    response = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"name": "Ada"}}}
    # Somebody else's response to it is passed over.
    bob = httpx.post(alice.url, json=response, headers=Mcp(served.url, tenant.bob, OLD).headers)
    assert (bob.status_code, _questions(tenant)[0]["status"]) == (202, "pending")
    given = httpx.post(alice.url, json=response, headers=alice.headers)
    assert (given.status_code, given.content) == (202, b"")
    assert "state-ok" in stream.first("result")["result"]["content"][0]["text"]
    assert len(_calls(tenant)) == 1


def test_a_client_that_declared_nothing_is_not_asked_on_its_stream(served: "Stack", tenant: Cast) -> None:
    alice = Mcp(served.url, tenant.alice, OLD)
    stream = _Stream(alice, _session(alice, {}))
    assert stream.first("result")["result"]["structuredContent"]["error"]["code"] == "input_required"
    assert [each for each in stream.messages if "method" in each] == []


@pytest.mark.parametrize("response_id", ["00000000-0000-4000-8000-000000000000", "x"])
def test_a_response_to_nothing_is_passed_over(served: "Stack", tenant: Cast, response_id: str) -> None:
    alice = Mcp(served.url, tenant.alice, OLD)
    body = {"jsonrpc": "2.0", "id": response_id, "result": {"action": "accept"}}
    assert httpx.post(alice.url, json=body, headers=alice.headers).status_code == 202
