"""What clients report that they have run themselves: recorded as that, and never taken for what Toolgate ran."""

from typing import Any

import httpx
import pytest

from tests.audit.logs import seal_now
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack

PATH = "/api/v1/telemetry/tool-calls"
CALL = {"tool": "save_note", "input": {"title": "Milk", "content": "é\r\n"}, "output": {"saved": True}}


def _report(stack: Stack, person: Person, *calls: Any, **more: Any) -> httpx.Response:
    return httpx.post(f"{stack.url}{PATH}", json={"calls": list(calls), **more}, headers=person.headers)


def _calls(tenant: Cast) -> list[dict[str, Any]]:
    return rows(f"SELECT * FROM tool_calls WHERE tenant_id = '{tenant.id}' ORDER BY id")


def _kinds(tenant: Cast) -> list[str]:
    return [each["kind"] for each in rows(f"SELECT kind FROM ledger_entries WHERE tenant_id = '{tenant.id}'")]


def test_a_reported_call_is_in_its_users_history_as_that_and_was_not_run(stack: Stack, tenant: Cast) -> None:
    failed = {"tool": "shell", "input": {"command": "ls"}, "error": "No such tool.", "execution_time_ms": 3}
    answer = _report(stack, tenant.alice, CALL, failed, client="cursor")
    assert answer.status_code == 201, answer.text
    saved, shell = answer.json()["results"]
    assert [(each["tool"], each["status"]) for each in (saved, shell)] == [("save_note", "success"), ("shell", "error")]
    first, second = _calls(tenant)
    assert (first["origin"], first["tier"], first["decision"], first["attempt"]) == ("native", "workspace", [], 0)
    assert (first["input"], first["output"]) == (CALL["input"], CALL["output"])
    assert first["display"] == "Reported by cursor, which ran it itself."
    assert (second["tier"], second["error_code"], second["error_message"]) == (None, "execution_error", "No such tool.")
    assert second["execution_time_ms"] == 3
    assert _kinds(tenant) == ["reported", "reported"]
    assert rows(f"SELECT id FROM notes WHERE tenant_id = '{tenant.id}'") == []
    shown = stack.get(tenant.alice, f"/api/v1/tool-calls/{saved['id']}/").json()
    assert (shown["origin"], shown["status"]) == ("native", "success")
    assert stack.get(tenant.bob, f"/api/v1/tool-calls/{saved['id']}/").status_code == 404


def test_there_is_no_receipt_for_what_toolgate_did_not_run(stack: Stack, tenant: Cast) -> None:
    [recorded] = _report(stack, tenant.alice, CALL).json()["results"]
    seal_now()
    answer = stack.get(tenant.alice, f"/api/v1/tool-calls/{recorded['id']}/receipt/")
    assert (answer.status_code, answer.json()["code"]) == (409, "reported_call")
    # Charts count what Toolgate ran.
    assert rows(f"SELECT * FROM tool_call_counts WHERE tenant_id = '{tenant.id}'") == []


def test_a_report_of_the_same_id_is_the_same_call(stack: Stack, tenant: Cast) -> None:
    named = {**CALL, "id": "call_1"}
    first = _report(stack, tenant.alice, named).json()["results"]
    assert _report(stack, tenant.alice, named).json()["results"] == first
    assert len(_calls(tenant)) == 1
    other = _report(stack, tenant.alice, {**CALL, "id": "call_2"}, {**named, "output": {"saved": False}})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert "call_1" in other.json()["detail"]
    # All or nothing; and another person's id is another call.
    assert len(_calls(tenant)) == 1
    assert _report(stack, tenant.bob, named).json()["results"] != first


@pytest.mark.parametrize(
    ("call", "field"),
    [
        ("a call", "calls.1"),
        ({**CALL, "status": "success"}, "calls.1"),
        ({**CALL, "tool": ""}, "calls.1.tool"),
        ({**CALL, "tool": "a\u202eb"}, "calls.1.tool"),
        ({**CALL, "id": 1}, "calls.1.id"),
        ({**CALL, "input": []}, "calls.1.input"),
        ({**CALL, "error": "x"}, "calls.1"),
        ({**CALL, "execution_time_ms": -1}, "calls.1.execution_time_ms"),
        ({**CALL, "execution_time_ms": True}, "calls.1.execution_time_ms"),
    ],
    ids=str,
)
def test_a_report_that_cannot_be_taken_is_refused_whole(stack: Stack, tenant: Cast, call: Any, field: str) -> None:
    answer = _report(stack, tenant.alice, CALL, call)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "invalid_request", field)
    assert _calls(tenant) == []


def test_broken_deep_and_many_reports_are_refused_and_unstorable_text_is_stored_as_it_can_be(
    stack: Stack, tenant: Cast
) -> None:
    def sent(content: bytes) -> int:
        headers = {**tenant.alice.headers, "Content-Type": "application/json"}
        return httpx.post(f"{stack.url}{PATH}", content=content, headers=headers).status_code

    assert [sent(each) for each in (b"", b"[]", b"{", b'{"calls": []}', b'{"calls": [1], "x": 1}')] == [400] * 5
    assert sent(b'{"calls": [{"tool": "a", "input": {"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}}]}") == 400
    assert _report(stack, tenant.alice, *[CALL] * 101).status_code == 400
    assert _calls(tenant) == []
    assert sent(b'{"calls": [{"tool": "a", "input": {"a": "x\\u0000\\ud800"}}]}') == 201
    [call] = _calls(tenant)
    assert call["output"] is None and "\x00" not in str(call["input"])


def test_who_may_not_chat_reports_nothing(stack: Stack, tenant: Cast) -> None:
    assert _report(stack, tenant.dana, CALL).status_code in (201, 403)
    assert httpx.post(f"{stack.url}{PATH}", json={"calls": [CALL]}).status_code == 401
