"""An Elevated call from suggestion to end: the run waits in its rows, and goes on when humans decide."""

import asyncio
import os
import threading
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest
import redis

from gateway.models import Agent
from gateway.operations import sweeper
from tenants.models import Membership
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.database import rows
from tests.people import Cast, Person, make_unhurried_tenant
from tests.rest.sse import Event, live, parse
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS, until
from tools.models import Grant, ToolSetting
from tools.network import redis as shared_redis

MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}'
NOTE = 'call: save_note {"title": "a", "content": "b"}'


def _held(stack: Stack, person: Person, content: str = MAIL, **more: Any) -> dict[str, Any]:
    answer = stack.chat(person, content, **more)
    assert answer.status_code == 202, answer.text
    body: dict[str, Any] = answer.json()
    return body


def _approval(body: dict[str, Any]) -> str:
    return str(body["required_action"]["approvals"][0]["id"])


def _decide(stack: Stack, person: Person, approval: str, verdict: str, **body: Any) -> httpx.Response:
    url = f"{stack.url}/api/v1/approvals/{approval}/{verdict}/"
    return httpx.post(url, json=body, headers=person.headers)


def _ended(stack: Stack, person: Person, body: dict[str, Any]) -> dict[str, Any]:
    def look() -> Any:
        run = stack.get(person, f"/api/v1/runs/{body['run_id']}").json()
        return run if run["status"] in ("completed", "incomplete", "failed", "cancelled") else None

    found: dict[str, Any] = until(look)
    return found


def _shown(stack: Stack, person: Person, body: dict[str, Any]) -> list[Any]:
    trace = stack.get(person, f"/api/v1/runs/{body['run_id']}/trace").json()["tool_trace"]
    return [call["result"] for call in trace[0]["tool_calls"]]


def _ledger(call_id: str) -> list[str]:
    found = rows("SELECT kind FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq", id=call_id)
    return [row["kind"] for row in found]


def _raise_tier(tenant: Cast, tool: str, **more: Any) -> None:
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name=tool, tier="elevated", **more)


def test_an_elevated_call_waits_and_runs_once_it_is_approved(stack: Stack, tenant: Cast) -> None:
    body = _held(stack, tenant.alice)
    assert (body["status"], body["content"]) == ("requires_action", "I will use send_email.")
    call = body["tool_calls"][0]
    action = body["required_action"]
    assert (call["status"], call["output"], call["error"]) == ("awaiting_approval", None, None)
    assert action["type"] == "approval"
    assert action["approvals"] == [
        {"id": call["approval_id"], "tool": "send_email", "input": call["input"],
         "expires_at": action["approvals"][0]["expires_at"]}
    ]  # fmt: skip
    run = rows("SELECT * FROM runs WHERE id = %(id)s", id=body["run_id"])[0]
    assert (run["status"], run["lease_until"], run["resumed_at"]) == ("requires_action", None, None)

    assert _decide(stack, tenant.carol, call["approval_id"], "approve", reason="Bob waits.").status_code == 200
    ended = _ended(stack, tenant.alice, body)
    assert (ended["status"], ended["required_action"]) == ("completed", None)
    assert ended["tool_calls"][0]["status"] == "success"
    assert _ledger(call["id"]) == ["proposed", "decided", "settled"]
    request = rows("SELECT * FROM approval_requests WHERE id = %(id)s", id=call["approval_id"])[0]
    assert request["status"] == "approved"
    assert request["used_at"] is not None


def test_the_other_calls_of_the_turn_go_on_and_the_model_is_asked_once_all_are_final(
    stack: Stack, tenant: Cast
) -> None:
    body = _held(stack, tenant.alice, f"{MAIL}\n{NOTE}\ncall: list_tasks {{}}\n{MAIL.replace('bob', 'eve')}")
    assert [call["status"] for call in body["tool_calls"]] == [
        "awaiting_approval", "success", "success", "awaiting_approval"
    ]  # fmt: skip
    first, second = (each["id"] for each in body["required_action"]["approvals"])
    _decide(stack, tenant.carol, second, "approve")

    def one_left() -> Any:
        run = stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}").json()
        return run["status"] == "requires_action" and run["tool_calls"][3]["status"] == "success" and run

    waiting = until(one_left)
    assert [each["id"] for each in waiting["required_action"]["approvals"]] == [first]
    assert waiting["usage"]["turns"] == 1
    _decide(stack, tenant.olga, first, "deny")
    ended = _ended(stack, tenant.alice, body)
    assert [call["status"] for call in ended["tool_calls"]] == ["error", "success", "success", "success"]
    assert (ended["status"], ended["usage"]["turns"]) == ("completed", 2)


def test_a_client_may_wait_for_the_decision(stack: Stack, tenant: Cast) -> None:
    answers: list[httpx.Response] = []
    asking = threading.Thread(target=lambda: answers.append(stack.chat(tenant.alice, MAIL, wait=60)))
    asking.start()
    found = until(lambda: rows("SELECT id FROM approval_requests WHERE tenant_id = %(id)s", id=tenant.id))
    until(
        lambda: rows("SELECT 1 AS it FROM runs WHERE tenant_id = %(id)s AND status = 'requires_action'", id=tenant.id)
    )
    assert answers == []
    _decide(stack, tenant.carol, found[0]["id"], "approve")
    asking.join(PATIENCE_SECONDS)
    assert (answers[0].status_code, answers[0].json()["status"]) == (200, "completed")


def test_a_wait_that_has_passed_is_202(stack: Stack, tenant: Cast) -> None:
    body = _held(stack, tenant.alice, wait=1)
    [waited] = rows(
        "SELECT clock_timestamp() - created_at >= interval '1 s' AS yes FROM runs WHERE id = %(id)s", id=body["run_id"]
    )
    assert waited["yes"]
    assert body["status"] == "requires_action"


def test_a_stream_ends_after_requires_action_and_goes_on_at_events(stack: Stack, tenant: Cast) -> None:
    events = parse(stack.chat(tenant.alice, MAIL, stream=True).text)
    names = [event.name for event in events]
    assert names[-3:] == ["tool_call.proposed", "tool_call.awaiting_approval", "run.requires_action"]
    last = events[-1]
    assert last.data["status"] == "requires_action"
    path = f"{stack.url}/api/v1/runs/{last.data['run_id']}/events"
    headers = tenant.alice.headers | {"Last-Event-ID": last.id}
    with httpx.stream("GET", path, headers=headers) as response:
        following = live(response)
        _decide(stack, tenant.carol, _approval(last.data), "approve")
        rest = [event for event in following if not isinstance(event, str)]
    assert _text_as_one([event.name for event in rest]) == [
        "tool_call.running", "tool_call.settled", "message.delta", "run.completed"
    ]  # fmt: skip
    again = parse(stack.get(tenant.alice, f"/api/v1/runs/{last.data['run_id']}/events").text)
    # Text that came in pieces comes in one when it is read again.
    assert _without_text(again) == _without_text([*events, *rest])


def _text_as_one(names: list[str]) -> list[str]:
    """The events' names, text that came in pieces counted once."""
    return [name for at, name in enumerate(names) if at == 0 or (name, names[at - 1]) != ("message.delta",) * 2]


def _without_text(events: list[Event]) -> list[str]:
    return [event.name for event in events if event.name != "message.delta"]


def test_a_stream_that_waits_goes_on_by_itself(stack: Stack, tenant: Cast) -> None:
    body = {"content": MAIL, "stream": True, "wait": 60}
    seen: list[str] = []
    url = f"{stack.url}/api/v1/chat"
    with httpx.stream("POST", url, json=body, headers=tenant.alice.headers) as response:
        for event in live(response):
            if isinstance(event, str):
                continue
            seen.append(event.name)
            if event.name == "run.requires_action":
                assert _decide(stack, tenant.carol, _approval(event.data), "approve").status_code == 200
    assert _text_as_one(seen[seen.index("run.requires_action") :]) == [
        "run.requires_action", "tool_call.running", "tool_call.settled", "message.delta", "run.completed"
    ]  # fmt: skip


def test_the_model_is_told_that_and_why_a_human_denied(stack: Stack, tenant: Cast) -> None:
    body = _held(stack, tenant.alice)
    _decide(stack, tenant.carol, _approval(body), "deny", reason="Bob left the company.")
    ended = _ended(stack, tenant.alice, body)
    error = ended["tool_calls"][0]["error"]
    assert (ended["status"], error["code"]) == ("completed", "approval_denied")
    assert "Bob left the company." in error["message"]
    assert _shown(stack, tenant.alice, body) == [{"ok": False, "error": error}]
    assert _ledger(ended["tool_calls"][0]["id"]) == ["proposed", "decided", "settled"]


def test_what_nobody_decides_expires_and_the_model_is_told(stack: Stack, tenant: Cast) -> None:
    body = _held(stack, tenant.alice)
    _overdue(_approval(body))
    asyncio.run(_swept())
    ended = _ended(stack, tenant.alice, body)
    assert (ended["status"], ended["tool_calls"][0]["error"]["code"]) == ("completed", "approval_expired")
    assert _decide(stack, tenant.carol, _approval(body), "approve").status_code == 410
    assert _ledger(ended["tool_calls"][0]["id"]) == ["proposed", "settled"]


@pytest.mark.parametrize("verdict", ["deny", "expire"])
def test_an_agent_may_end_its_runs_when_a_call_is_not_approved(stack: Stack, tenant: Cast, verdict: str) -> None:
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(on_refused_approval="halt")
    body = _held(stack, tenant.alice, f"{MAIL}\n{MAIL.replace('bob', 'eve')}")
    first, second = (each["id"] for each in body["required_action"]["approvals"])
    if verdict == "deny":
        _decide(stack, tenant.carol, first, "deny", reason="No.")
    else:
        _overdue(first)
        asyncio.run(_swept())
    ended = _ended(stack, tenant.alice, body)
    code = {"deny": "approval_denied", "expire": "approval_expired"}[verdict]
    assert (ended["status"], ended["error"]["code"], ended["usage"]["turns"]) == ("cancelled", code, 1)
    assert [call["error"]["code"] for call in ended["tool_calls"]] == [code, "cancelled"]
    assert _decide(stack, tenant.carol, second, "approve").status_code == 409


def test_cancelling_the_run_cancels_what_it_waits_for(stack: Stack, tenant: Cast) -> None:
    body = _held(stack, tenant.alice)
    url = f"{stack.url}/api/v1/runs/{body['run_id']}/cancel"
    cancelled = httpx.post(url, headers=tenant.alice.headers).json()
    assert (cancelled["status"], cancelled["tool_calls"][0]["error"]["code"]) == ("cancelled", "cancelled")
    assert _decide(stack, tenant.carol, _approval(body), "approve").status_code == 409


def test_withdrawing_a_request_lets_the_run_go_on_without_it(stack: Stack, tenant: Cast) -> None:
    body = _held(stack, tenant.alice)
    assert _decide(stack, tenant.alice, _approval(body), "cancel").status_code == 200
    ended = _ended(stack, tenant.alice, body)
    assert (ended["status"], ended["tool_calls"][0]["error"]["code"]) == ("completed", "cancelled")


def test_what_ran_is_what_was_approved_and_the_model_is_told(stack: Stack, tenant: Cast) -> None:
    body = _held(stack, tenant.alice)
    edited = {"to": "bob@example.com", "subject": "Hello", "body": "Dear Bob"}
    assert _decide(stack, tenant.carol, _approval(body), "approve", arguments=edited).status_code == 200
    ended = _ended(stack, tenant.alice, body)
    call = rows("SELECT * FROM tool_calls WHERE id = %(id)s", id=ended["tool_calls"][0]["id"])[0]
    assert (call["status"], call["input"]["body"], call["approved_input"]) == ("success", "Hi Bob", edited)
    decision = rows("SELECT * FROM approval_decisions WHERE call_id = %(id)s", id=call["id"])[0]
    assert decision["edit"] == [{"op": "replace", "path": "/body", "before": "Hi Bob", "after": "Dear Bob"}]
    assert _shown(stack, tenant.alice, body)[0]["ran_with"] == edited


def _revoke_grant(tenant: Cast) -> None:
    with on_login("operator"):
        Grant.objects.create(tenant_id=tenant.id, tool_name="send_email", effect="deny")


def _remove_from_tenant(tenant: Cast) -> None:
    with on_login("operator"):
        Membership.objects.filter(tenant_id=tenant.id, user_id=tenant.alice.scope.user_id).delete()


def _disable_tool(tenant: Cast) -> None:
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="send_email", enabled=False)


def _change_schema(tenant: Cast) -> None:
    _as_owner("UPDATE approval_requests SET schema_hash = repeat('0', 64) WHERE tenant_id = %s", tenant.id)


def _change_arguments(tenant: Cast) -> None:
    _as_owner('UPDATE tool_calls SET approved_input = \'{"to": "eve@example.com"}\' WHERE tenant_id = %s', tenant.id)


def _take_too_long(tenant: Cast) -> None:
    _as_owner("UPDATE approval_requests SET usable_until = now() - interval '1 s' WHERE tenant_id = %s", tenant.id)


@pytest.mark.parametrize(
    ("change", "code", "gate"),
    [
        (_revoke_grant, "permission_denied", "permission"),
        (_remove_from_tenant, "permission_denied", "permission"),
        (_disable_tool, "not_allowed", "allowlist"),
        (_change_schema, "policy_denied", "binding"),
        (_change_arguments, "policy_denied", "binding"),
        (_take_too_long, "policy_denied", "binding"),
    ],
)
def test_all_gates_run_again_when_the_call_goes_on(
    stack: Stack, tenant: Cast, change: Callable[[Cast], None], code: str, gate: str
) -> None:
    body = _held(stack, tenant.alice)
    with _run_held(body["run_id"]):
        assert _decide(stack, tenant.carol, _approval(body), "approve").status_code == 200
        change(tenant)
    until(lambda: rows("SELECT 1 AS it FROM runs WHERE id = %(id)s AND status = 'completed'", id=body["run_id"]))
    call = rows("SELECT * FROM tool_calls WHERE run_id = %(id)s", id=body["run_id"])[0]
    assert (call["status"], call["error_code"], call["started_at"]) == ("error", code, None)
    assert [(answer["gate"], answer["ok"]) for answer in call["resumed_decision"]][-1] == (gate, False)
    assert _ledger(call["id"]) == ["proposed", "decided", "settled"]


def test_the_clock_stands_still_while_a_human_thinks(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(max_seconds=90)
    body = _held(stack, tenant.alice)
    # As if it had waited for an hour; where the clock does not stand still, resumed_at is not null.
    hour_ago = "created_at = created_at - interval '1 h', resumed_at = resumed_at - interval '1 h'"
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as connection:
        connection.execute(f"UPDATE runs SET {hour_ago} WHERE id = %s".encode(), [body["run_id"]])
    _decide(stack, tenant.carol, _approval(body), "approve")
    assert _ended(stack, tenant.alice, body)["status"] == "completed"


def test_an_approved_call_is_charged_to_the_limit_once(stack: Stack) -> None:
    tenant = make_unhurried_tenant()
    _raise_tier(tenant, "save_note", rate="1/d")
    body = _held(stack, tenant.alice, NOTE)
    _decide(stack, tenant.carol, _approval(body), "approve")
    assert _ended(stack, tenant.alice, body)["tool_calls"][0]["status"] == "success"
    refused = stack.chat(tenant.alice, NOTE).json()["tool_calls"][0]
    assert refused["error"]["code"] == "rate_limited"


def test_the_decision_finds_its_way_without_any_hint(tenant: Cast) -> None:
    with Stack() as stack:
        body = _held(stack, tenant.alice)
        stack.kill("worker")
        assert _decide(stack, tenant.carol, _approval(body), "approve").status_code == 200
        _flush()
        stack.start("worker")
        stack.start("beat")
        assert _ended(stack, tenant.alice, body)["tool_calls"][0]["status"] == "success"


def _flush() -> None:
    """Lose everything that Redis holds, messages to the workers included."""
    redis.Redis.from_url(os.environ["REDIS_URL"]).flushall()


async def _swept() -> None:
    await sweeper.sweep()
    await shared_redis.close()
    await transactions.close_pools()


def _overdue(approval: str) -> None:
    _as_owner("UPDATE approval_requests SET expires_at = now() - interval '1 s' WHERE id = %s", uuid.UUID(approval))


def _as_owner(statement: str, *values: object) -> None:
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as connection:
        connection.execute("ALTER TABLE approval_requests DISABLE TRIGGER guard")
        connection.execute(statement.encode(), values)
        connection.execute("ALTER TABLE approval_requests ENABLE TRIGGER guard")


class _run_held:
    """Keeps a run's row locked, so that nobody can take it on inside."""

    def __init__(self, run_id: str):
        self._run_id = run_id

    def __enter__(self) -> None:

        self._connection = psycopg.connect(os.environ["DATABASE_OWNER_URL"])
        self._connection.execute("SELECT 1 FROM runs WHERE id = %s FOR UPDATE", [self._run_id])

    def __exit__(self, *error: object) -> None:
        self._connection.close()
