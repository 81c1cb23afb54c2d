"""Runs as a running Toolgate made them, driven once more out of their rows."""

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from gateway.models import Agent
from gateway.operations.audit_commands.replay import handle, lines_of
from gateway.providers.interface import ToolMessage
from gateway.runs.replay.recording import NoSuchRun
from tenants.scope.routing import on_login
from tests.approvals.api import decide
from tests.database import rows
from tests.gateway.runs.replays import ended, everything, intact, replayed, run_of, tamper, until, wire
from tests.hostile.upstream import Script, Upstream, completion, failing, running, scripted, streamed
from tests.people import Cast
from tests.stack import Stack

NOTE = 'call: save_note {"title": "a", "content": "b"}'
MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}'
TASKS = ("t1", "list_tasks", "{}")
SAVED = ("n1", "save_note", '{"title": "a", "content": "b"}')


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """A provider that tests script, with a running Toolgate that asks it."""
    with running() as started:
        yield started


@pytest.fixture
def stack(upstream: Upstream) -> Stack:
    """The same Toolgate; its default model is the demo one."""
    return upstream.stack


def _said(stack: Stack, tenant: Cast, content: str, status: int = 200, **more: Any) -> dict[str, Any]:
    answer = stack.chat(tenant.alice, content, **more)
    assert answer.status_code == status, answer.text
    body: dict[str, Any] = answer.json()
    return body


def _requests(tenant: Cast) -> list[uuid.UUID]:
    return [
        row["id"] for row in rows("SELECT id FROM approval_requests WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    ]


@pytest.mark.parametrize(
    "content",
    [
        "Please google",
        NOTE,
        'call: list_tasks {}\ncall: web_search {"query": "tea"}\ncall: list_tasks {}\nthen:\n' + NOTE,
        "call: rm_rf {}",
        f"call: save_note {{}}\nthen:\ncall: save_note []\nthen:\ncall: save_note {{broken\nthen:\n{NOTE}",
        'call: no_such_tool {"a": 1e2, "b": -0.0, "c": 1e300, "d": 0.1, "e": 9007199254740991}',
        f'{NOTE}\ncall: nope {{}}\ncall: add_task {{"title": "x"}}',
    ],
    ids=["text", "a call", "parallel calls", "refused", "validation retries", "numbers", "side by side"],
)
def test_an_intact_run_replays_without_a_difference(stack: Stack, tenant: Cast, content: str) -> None:
    body = _said(stack, tenant, content)
    found = intact(tenant, body["run_id"])
    assert found.view is not None
    assert found.view.run.status == "completed"
    assert found.view.turns[-1].text == body["content"]
    replayed_calls = [(str(call.id), call.status) for turn in found.view.turns for call in turn.calls]
    assert replayed_calls == [(call["id"], call["status"]) for call in body["tool_calls"]]
    assert sum(found.fits.values()) == 2 * len(body["tool_calls"])


def test_each_turn_is_asked_what_the_provider_was_asked_and_the_provider_is_asked_no_more(
    upstream: Upstream, tenant: Cast
) -> None:
    script = upstream.script(completion("Both.", TASKS, SAVED), completion("And.", TASKS), completion("Done."))
    answer = httpx.post(f"{upstream.stack.url}/api/v1/chat", json=scripted(script), headers=tenant.alice.headers).json()
    again = httpx.post(
        f"{upstream.stack.url}/api/v1/chat",
        json=scripted(script, conversation_id=answer["conversation_id"]),
        headers=tenant.alice.headers,
    ).json()
    asked = list(script.asked)
    for body, bodies in ((answer, asked[:3]), (again, asked[3:])):
        found = intact(tenant, body["run_id"])
        assert [wire(prompt) for prompt in found.prompts] == bodies
    assert script.asked == asked


def test_an_edited_approval_replays_with_what_ran(stack: Stack, tenant: Cast) -> None:
    body = _said(stack, tenant, f"{MAIL}\n{NOTE}", 202)
    waiting = intact(tenant, body["run_id"])
    assert waiting.view is not None and waiting.view.run.status == "requires_action"
    edited = {"to": "bob@example.com", "subject": "Hello", "body": "Dear Bob"}
    assert decide(stack, tenant.carol, _requests(tenant)[0], "approve", arguments=edited).status_code == 200
    assert ended(stack, tenant.alice, body["run_id"])["status"] == "completed"
    found = intact(tenant, body["run_id"])
    assert sum(found.fits.values()) == 5
    (mailed,) = (
        each for each in found.prompts[1].messages if isinstance(each, ToolMessage) and each.name == "send_email"
    )
    assert json.loads(mailed.content)["ran_with"] == edited


@pytest.mark.parametrize("verdicts", [("deny", "approve"), ("approve", "deny"), ("cancel", "approve")])
@pytest.mark.parametrize("on_refused", ["tell", "halt"])
def test_decisions_replay_in_their_order(
    stack: Stack, tenant: Cast, verdicts: tuple[str, str], on_refused: str
) -> None:
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(on_refused_approval=on_refused)
    body = _said(stack, tenant, f"{MAIL}\n{MAIL}\n{NOTE}", 202)
    first, second = _requests(tenant)
    _decide(stack, tenant, first, verdicts[0])
    run = ended(stack, tenant.alice, body["run_id"]) if (on_refused, verdicts[0]) == ("halt", "deny") else None
    if run is None:
        decided = "SELECT 1 AS it FROM approval_requests WHERE id = %(id)s AND used_at IS NOT NULL"
        until(lambda: rows(decided, id=first))
        _decide(stack, tenant, second, verdicts[1])
        run = ended(stack, tenant.alice, body["run_id"])
    assert run["status"] == ("cancelled" if on_refused == "halt" and "deny" in verdicts else "completed")
    # What was approved may still run when the run is halted, and its end changes rows.
    runs_still = "SELECT 1 AS it FROM tool_calls WHERE run_id = %(id)s AND status IN ('queued', 'running')"
    until(lambda: not rows(runs_still, id=body["run_id"]))
    intact(tenant, body["run_id"])


def _decide(stack: Stack, tenant: Cast, request: uuid.UUID, verdict: str) -> None:
    person = tenant.alice if verdict == "cancel" else tenant.carol
    assert decide(stack, person, request, verdict).status_code == 200


def test_a_run_that_was_cancelled_while_it_waited_replays_to_its_end(stack: Stack, tenant: Cast) -> None:
    body = _said(stack, tenant, f"{NOTE}\n{MAIL}", 202)
    httpx.post(f"{stack.url}/api/v1/runs/{body['run_id']}/cancel", headers=tenant.alice.headers)
    found = intact(tenant, body["run_id"])
    assert found.view is not None and found.view.run.status == "cancelled"


def test_a_run_out_of_turns_replays(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(max_turns=2)
    body = _said(stack, tenant, f"{NOTE}\nthen:\n{NOTE}\nthen:\n{NOTE}")
    assert (body["status"], body["incomplete_reason"]) == ("incomplete", "max_turns")
    intact(tenant, body["run_id"])


@pytest.mark.parametrize(("status", "answered"), [(400, 502), (429, 429), (500, 502)])
def test_a_run_whose_provider_failed_fails_again(upstream: Upstream, tenant: Cast, status: int, answered: int) -> None:
    script = upstream.script(completion("First.", TASKS), failing(status, Retry_After="0"))
    answer = httpx.post(f"{upstream.stack.url}/api/v1/chat", json=scripted(script), headers=tenant.alice.headers)
    assert answer.status_code == answered
    found = intact(tenant, answer.json()["run_id"])
    assert found.view is not None and found.view.run.error_code == "provider_error"


def test_a_run_out_of_time_keeps_what_had_been_said(upstream: Upstream, tenant: Cast) -> None:
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(max_seconds=10)
    never = Script("").arrived
    script = upstream.script(
        completion("First.", TASKS), streamed({"content": "Half a"}, {"content": " word"}, between=never)
    )
    script.replies[0] = streamed(
        {"content": "First."},
        {"tool_calls": [{"index": 0, "id": "t1", "function": {"name": "list_tasks", "arguments": "{}"}}]},
        finish="tool_calls",
    )
    with httpx.stream(
        "POST",
        f"{upstream.stack.url}/api/v1/chat",
        json=scripted(script),
        headers=tenant.alice.headers | {"Accept": "text/event-stream"},
    ) as stream:
        stream.read()
    never.set()
    run_id = run_of(tenant)
    assert ended(upstream.stack, tenant.alice, run_id)["incomplete_reason"] == "time"
    found = intact(tenant, run_id)
    assert found.view is not None and found.view.turns[-1].text == "Half a"


# --- as far as it goes -----------------------------------------------------------------------------------------------
def test_an_erased_call_stops_the_replay_and_is_no_difference(stack: Stack, tenant: Cast) -> None:
    body = _said(stack, tenant, f"call: list_tasks {{}}\nthen:\n{NOTE}")
    note = body["tool_calls"][1]["id"]
    erased = "input = NULL, output = NULL, display = '', params_hash = NULL, output_hash = NULL, row_key = NULL"
    tamper("tool_calls", f"UPDATE tool_calls SET {erased} WHERE id = %s", note)
    found = replayed(body["run_id"])
    assert found.differences == []
    assert found.stopped == f"the payload of save_note ({note}) in turn 2 was erased"
    assert (sum(found.fits.values()), found.erased) == (2, 2)
    assert found.view is not None and len(found.view.turns[0].calls) == 1


def test_of_a_deleted_conversation_the_calls_are_checked(stack: Stack, tenant: Cast) -> None:
    body = _said(stack, tenant, NOTE)
    url = f"{stack.url}/api/v1/conversations/{body['conversation_id']}/"
    assert httpx.delete(url, headers=tenant.alice.headers).status_code == 204
    found = replayed(body["run_id"])
    assert found.stopped == "the run was deleted with its conversation; its calls are all that is left"
    assert (found.differences, sum(found.fits.values())) == ([], 2)


def test_what_never_was_cannot_be_replayed() -> None:
    with pytest.raises(NoSuchRun):
        replayed(str(uuid.uuid4()))


def test_the_command_tells_a_transcript_and_no_text_of_it(
    stack: Stack, tenant: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    body = _said(stack, tenant, f"My secret is 4711.\n{NOTE}\ncall: rm_rf {{}}")
    before = everything(tenant)
    assert handle({"run": uuid.UUID(body["run_id"])}) == 0
    assert everything(tenant) == before
    lines = capsys.readouterr().out.splitlines()
    saved, refused = (call["id"] for call in body["tool_calls"])
    assert lines[0] == f"run {body['run_id']}: offline/demo, completed, 2 turns"
    assert lines[1].startswith("turn 1: asked with 1 message, ")
    assert lines[3].startswith(f"  save_note {saved}: success, a result of ")
    assert lines[4].startswith(f"  rm_rf {refused}: not_allowed, a result of ")
    assert re.fullmatch(r"(0 sealed and 4|4 sealed and 0) unsealed ledger entries fit\.", lines[-2])
    assert lines[-1] == "No difference."
    assert "4711" not in "\n".join(lines)
    assert lines_of(replayed(body["run_id"]))[:-2] == lines[:-2]


def test_the_command_says_that_there_is_no_such_run(capsys: pytest.CaptureFixture[str]) -> None:
    run_id = uuid.uuid4()
    assert handle({"run": run_id}) == 2
    assert capsys.readouterr().err == f"There is no run {run_id}, and no call of one.\n"
