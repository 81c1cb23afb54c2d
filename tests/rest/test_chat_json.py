"""`POST /api/v1/chat` answered as JSON, by the callable in front of Django and by Django."""

import json
import threading
import uuid
from typing import Any

import httpx
import pytest

from tests.database import rows
from tests.hostile.upstream import ORIGIN, Upstream, completion, failing, scripted
from tests.people import Cast
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

PATHS: dict[str, dict[str, str]] = {"fast": {}, "django": {"Origin": ORIGIN}}
NOTE = {"title": "Milk", "content": "Two litres"}
BODY = {"id", "conversation_id", "run_id", "status", "error", "incomplete_reason", "content", "model", "tool_calls",
        "usage", "required_action"}  # fmt: skip
CALL = {"id", "tool", "input", "status", "output", "display", "error", "execution_time_ms", "turn", "approval_id"}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_an_answer_has_exactly_the_contracts_fields(stack: Stack, tenant: Cast, path: dict[str, str]) -> None:
    answer = stack.chat(tenant.alice, f"call: save_note {json.dumps(NOTE)}", headers=path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    body: dict[str, Any] = answer.json()
    assert set(body) == BODY
    for name in ("id", "conversation_id", "run_id"):
        assert str(uuid.UUID(body[name])) == body[name]
    assert (body["status"], body["model"]) == ("completed", "offline/demo")
    assert (body["error"], body["incomplete_reason"], body["required_action"]) == (None, None, None)
    assert set(body["usage"]) == {"input_tokens", "output_tokens", "turns"}
    assert body["usage"]["turns"] == 2
    assert body["usage"]["input_tokens"] > 0
    [call] = body["tool_calls"]
    assert set(call) == CALL
    assert (call["tool"], call["input"], call["status"], call["turn"]) == ("save_note", NOTE, "success", 1)
    assert set(call["output"]) == {"note_id", "saved"}
    assert (call["display"], call["error"], call["approval_id"]) == ("Saved the note “Milk”", None, None)
    assert isinstance(call["execution_time_ms"], int)
    assert stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}").json() == body


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_refused_call_has_code_message_and_field(stack: Stack, tenant: Cast, path: dict[str, str]) -> None:
    body = stack.chat(tenant.alice, 'call: save_note {"title": 1, "content": "x"}', headers=path).json()
    [call] = body["tool_calls"]
    assert set(call) == CALL
    assert set(call["error"]) == {"code", "message", "field"}
    assert (call["status"], call["output"], call["execution_time_ms"]) == ("error", None, None)


def test_calls_are_in_the_order_the_model_made_them(upstream: Upstream, tenant: Cast) -> None:
    first = [("a", "save_note", json.dumps(NOTE)), ("b", "nothing", "{}"), ("c", "list_tasks", "{}")]
    script = upstream.script(
        completion("One.", *first), completion("Two.", ("d", "add_task", '{"title": "x"}')), completion("Three.")
    )
    body = upstream.stack.chat(tenant.alice, **scripted(script)).json()
    assert [(call["tool"], call["turn"]) for call in body["tool_calls"]] == [
        ("save_note", 1), ("nothing", 1), ("list_tasks", 1), ("add_task", 2)
    ]  # fmt: skip
    assert body["content"] == "Three."
    assert body["usage"] == {"input_tokens": 21, "output_tokens": 9, "turns": 3}
    assert body["model"] == "openai/m"


def test_the_run_is_in_the_database_before_it_is_answered(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, f"call: save_note {json.dumps(NOTE)}").json()
    messages = rows(
        "SELECT id, role, content, run_id FROM messages WHERE conversation_id = %(c)s ORDER BY created_at, role DESC",
        c=body["conversation_id"],
    )
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert str(messages[1]["id"]) == body["id"]
    assert messages[1]["content"] == body["content"]
    turns = rows("SELECT number, calls FROM turns WHERE run_id = %(r)s ORDER BY number", r=body["run_id"])
    assert turns == [{"number": 1, "calls": 1}, {"number": 2, "calls": 0}]


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_failed_run_is_a_problem_that_names_it(upstream: Upstream, tenant: Cast, path: dict[str, str]) -> None:
    answer = upstream.stack.chat(tenant.alice, **scripted(upstream.script(failing(400))), headers=path)
    assert answer.status_code == 502
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert set(body) == {"type", "title", "status", "code", "detail", "run_id"}
    assert (body["title"], body["code"]) == ("Bad Gateway", "provider_error")
    run = upstream.stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}")
    assert run.status_code == 200
    assert (run.json()["status"], run.json()["content"]) == ("failed", "")
    assert set(run.json()["error"]) == {"code", "message"}


def test_the_model_is_shown_the_earlier_tool_rounds(upstream: Upstream, tenant: Cast) -> None:
    script = upstream.script(completion("Saving.", ("x", "save_note", json.dumps(NOTE))), completion("Saved."))
    first = upstream.stack.chat(tenant.alice, **scripted(script)).json()
    after = upstream.script(completion("Yes."))
    upstream.stack.chat(tenant.alice, **scripted(after, conversation_id=first["conversation_id"]))
    said = after.asked[0]["messages"]
    assert [message["role"] for message in said] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert said[2]["content"] == "Saving."
    assert said[2]["tool_calls"][0]["id"] == said[3]["tool_call_id"]
    assert json.loads(said[3]["content"])["data"]["saved"] is True
    assert said[4]["content"] == "Saved."


def test_a_result_beyond_16384_bytes_is_cut_for_the_model_and_whole_on_record(upstream: Upstream, tenant: Cast) -> None:
    tasks = "\n".join("call: add_task " + json.dumps({"title": f"{n:03} " + "é" * 490}) for n in range(25))
    upstream.stack.chat(tenant.alice, tasks)
    script = upstream.script(completion("", ("x", "list_tasks", '{"limit": 100}')), completion("Many."))
    body = upstream.stack.chat(tenant.alice, **scripted(script)).json()
    assert len(body["tool_calls"][0]["output"]["tasks"]) == 25
    shown = json.loads(script.asked[1]["messages"][-1]["content"])
    assert (shown["ok"], shown["truncated"]) == (True, True)
    assert len(shown["data"].encode()) in range(16_381, 16_385)
    [row] = rows("SELECT output, output_bytes FROM tool_calls WHERE run_id = %(r)s", r=body["run_id"])
    assert shown["original_bytes"] == row["output_bytes"]
    assert row["output"] == body["tool_calls"][0]["output"]


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_clients_own_request_id_comes_back(stack: Stack, tenant: Cast, path: dict[str, str]) -> None:
    answer = stack.chat(tenant.alice, "hello", headers=path | {"X-Request-Id": "mine-42"})
    assert answer.headers["x-request-id"] == "mine-42"


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("more", [{"wait": 0}, {"wait": 1.5}, {"stream": False}, {"agent": None}, {"model": None},
                                  {"conversation_id": None}, {"unknown": 1}])  # fmt: skip
def test_optional_fields_may_be_null_and_unknown_ones_are_ignored(
    stack: Stack, tenant: Cast, path: dict[str, str], more: dict[str, Any]
) -> None:
    assert stack.chat(tenant.alice, "hello", headers=path, **more).status_code == 200


def test_an_agent_is_chosen_by_its_slug(stack: Stack, tenant: Cast) -> None:
    slug = rows("SELECT slug FROM agents WHERE tenant_id = %(t)s AND is_default", t=tenant.id)[0]["slug"]
    assert stack.chat(tenant.alice, "hello", agent=slug).status_code == 200


def test_a_second_question_in_the_same_conversation_is_refused_while_the_first_runs(
    upstream: Upstream, tenant: Cast
) -> None:
    gate = threading.Event()
    script = upstream.script(completion("Hello."))
    script.replies[0].gate = gate
    first = upstream.stack.chat(tenant.alice, "hello").json()
    conversation = first["conversation_id"]
    answers: list[httpx.Response] = []
    asking = threading.Thread(
        target=lambda: answers.append(
            upstream.stack.chat(tenant.alice, **scripted(script, conversation_id=conversation))
        )
    )
    asking.start()
    script.wait()
    for path in PATHS.values():
        busy = upstream.stack.chat(tenant.alice, "hello", conversation_id=conversation, headers=path)
        assert (busy.status_code, busy.json()["code"]) == (409, "conversation_busy")
        assert busy.headers["content-type"] == "application/problem+json"
    deleting = httpx.delete(f"{upstream.stack.url}/api/v1/conversations/{conversation}/", headers=tenant.alice.headers)
    assert (deleting.status_code, deleting.json()["code"]) == (409, "conversation_busy")
    gate.set()
    asking.join(PATIENCE_SECONDS)
    assert answers[0].json()["content"] == "Hello."
    said = rows("SELECT content FROM messages WHERE conversation_id = %(c)s", c=conversation)
    assert len(said) == 4
