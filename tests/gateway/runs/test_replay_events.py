"""A run's replay events: over REST, out of the command, and what they say of what is erased or not over."""

import io
import json
import sys
import uuid
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from gateway.operations.audit_commands import replay as command
from tests.database import rows
from tests.people import Cast
from tests.stack import Stack

NOTE = 'call: save_note {"title": "a", "content": "b"}'
MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}'
OF_TOOLS = {"params_hash", "output_hash", "latency_ms", "side_effects", "call_id", "tool", "run_id", "turn", "erased"}


def _events(text: str) -> list[dict[str, Any]]:
    assert text.endswith("\n") or not text
    return [json.loads(line) for line in text.splitlines()]


def _run(stack: Stack, tenant: Cast, content: str, status: int = 200) -> dict[str, Any]:
    answer = stack.chat(tenant.alice, content)
    assert answer.status_code == status, answer.text
    body: dict[str, Any] = answer.json()
    return body


def _exported(run_id: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    assert command.handle({"run": uuid.UUID(run_id), "export": "-"}) == 0
    return _events(out.buffer.getvalue().decode())  # type: ignore[attr-defined]


def test_a_run_is_a_turn_its_calls_and_their_results(
    stack: Stack, tenant: Cast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    body = _run(stack, tenant, f"{NOTE}\ncall: rm_rf {{}}")
    answer = stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}/replay")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/x-ndjson")
    events = _events(answer.text)
    assert [(each["event"], each["turn"]) for each in events] == [
        ("Turn", 1), ("ToolCall", 1), ("ToolCall", 1), ("ToolResult", 1), ("ToolResult", 1), ("Turn", 2),
    ]  # fmt: skip
    called = {each["tool"]: each for each in events if each["event"] == "ToolCall"}
    came = {each["tool"]: each for each in events if each["event"] == "ToolResult"}
    for each in (*called.values(), *came.values()):
        assert set(each) >= OF_TOOLS
        assert (each["run_id"], each["erased"]) == (body["run_id"], False)
    [note] = [call for call in body["tool_calls"] if call["tool"] == "save_note"]
    receipt = stack.get(tenant.alice, f"/api/v1/tool-calls/{note['id']}/receipt/").json()
    for each in (called["save_note"], came["save_note"]):
        assert each["call_id"] == note["id"]
        for name in ("params_hash", "output_hash", "latency_ms", "side_effects"):
            assert each[name] == receipt[name], name
    assert called["save_note"]["params"] == {"title": "a", "content": "b"}
    assert (came["save_note"]["status"], came["save_note"]["output"]) == ("success", note["output"])
    assert (came["rm_rf"]["status"], came["rm_rf"]["error"]["code"]) == ("error", "not_allowed")
    assert (came["rm_rf"]["output_hash"], came["rm_rf"]["latency_ms"], came["rm_rf"]["side_effects"]) == (
        None, None, [],
    )  # fmt: skip
    assert events[-1]["text"] == body["content"]

    # The command writes the same lines, into a file that only its owner reads too.
    assert _exported(body["run_id"], monkeypatch) == events
    path = tmp_path / "run.jsonl"
    assert command.handle({"run": uuid.UUID(body["run_id"]), "export": str(path)}) == 0
    assert (path.read_text(), path.stat().st_mode & 0o777) == (answer.text, 0o600)
    read = rows("SELECT via, action, calls FROM history_reads WHERE user_id = %(id)s", id=tenant.alice.scope.user_id)
    assert read == [{"via": "command", "action": "run", "calls": 2}] * 2


def test_only_ones_own_run_is_there(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    body = _run(stack, tenant, NOTE)
    for person in (tenant.bob, tenant.dana, tenant.olga, other_tenant.alice):
        answer = stack.get(person, f"/api/v1/runs/{body['run_id']}/replay")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert stack.get(tenant.alice, f"/api/v1/runs/{uuid.uuid4()}/replay").status_code == 404


def test_a_run_that_is_not_over_has_no_replay_yet(
    stack: Stack, tenant: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    body = _run(stack, tenant, MAIL, 202)
    answer = stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}/replay")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (409, "run_not_over")
    path = tmp_path / "run.jsonl"
    assert command.handle({"run": uuid.UUID(body["run_id"]), "export": str(path)}) == 1
    assert "is not over: it is requires_action" in capsys.readouterr().err
    assert not path.exists()
    assert command.handle({"run": uuid.uuid4(), "export": "-"}) == 2


def test_an_erased_call_is_there_without_its_payload(stack: Stack, tenant: Cast) -> None:
    body = _run(stack, tenant, NOTE)
    call = body["tool_calls"][0]["id"]
    _erase(call)
    events = _events(stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}/replay").text)
    assert [each["event"] for each in events] == ["Turn", "ToolCall", "ToolResult", "Turn"]
    called, came = events[1:3]
    for each in (called, came):
        assert (each["call_id"], each["erased"], each["params_hash"], each["output_hash"]) == (call, True, None, None)
    assert (called["params"], came["output"], came["status"]) == (None, None, "success")
    assert '"b"' not in json.dumps([called, came])


def _erase(call_id: str) -> None:
    """What erasure leaves of a call."""
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        owner.execute(
            "UPDATE tool_calls SET input = NULL, input_raw = NULL, output = NULL, display = '', error_message = NULL,"
            " error_field = NULL, params_hash = NULL, output_hash = NULL, approved_input = NULL,"
            " approved_params_hash = NULL, row_key = NULL, decision = bare_answers(decision),"
            " resumed_decision = bare_answers(resumed_decision) WHERE id = %s",
            [call_id],
        )


def test_of_a_deleted_conversation_only_the_calls_are_left(
    stack: Stack, tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx

    body = _run(stack, tenant, NOTE)
    url = f"{stack.url}/api/v1/conversations/{body['conversation_id']}/"
    assert httpx.delete(url, headers=tenant.alice.headers).status_code == 204
    assert stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}/replay").status_code == 404
    assert [each["event"] for each in _exported(body["run_id"], monkeypatch)] == ["ToolCall", "ToolResult"]
