"""`POST /api/v1/tools/{name}/calls`: a call without a chat meets the same gates, record, workers and humans."""

import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from gateway.models import Agent
from gateway.operations import sweeper
from tenants.models import Membership
from tenants.people import keys
from tenants.scope.routing import on_login
from tests.approvals.api import decide, overdue, refused
from tests.approvals.rules import make_rule
from tests.database import rows
from tests.people import Cast, Person, make_unhurried_tenant
from tests.rest.tool_calls import MAIL, NOTE, call, entries, held, notes, recorded
from tests.stack import Stack
from tests.waiting import until
from tools.models import Grant, ToolSetting

FINAL = ("success", "error")


def polled(stack: Stack, person: Person, call_id: str) -> dict[str, Any]:
    """The call as the history shows it, once it is final."""

    def look() -> Any:
        found = stack.get(person, f"/api/v1/tool-calls/{call_id}/").json()
        return found if found["status"] in FINAL else None

    found: dict[str, Any] = until(look)
    return found


# --- what is answered ------------------------------------------------------------------------------------------------
def test_a_call_runs_and_is_answered_as_a_chat_shows_it(stack: Stack, tenant: Cast) -> None:
    answer = call(stack, tenant.alice, "save_note", NOTE)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    [row] = recorded(tenant)
    assert (body["id"], body["tool"], body["status"], body["input"]) == (str(row["id"]), "save_note", "success", NOTE)
    assert (body["error"], body["turn"], body["approval_id"], body["origin"]) == (None, None, None, "api")
    assert body["output"]["saved"] is True
    assert (row["origin"], row["turn"], row["position"]) == ("api", None, 0)
    assert (row["conversation_id"], row["message_id"], row["run_id"]) == (None, None, None)
    gates = ["allowlist", "schema", "permission", "policy", "rate_limit", "approval"]
    assert [gate["gate"] for gate in row["decision"]] == gates
    assert entries(row["id"]) == ["proposed", "settled"]
    assert notes(tenant) == 1
    for table in ("runs", "conversations", "messages", "turns"):
        assert rows(f"SELECT 1 AS one FROM {table} WHERE tenant_id = %(t)s", t=tenant.id) == []
    found = stack.get(tenant.alice, f"/api/v1/tool-calls/{row['id']}/").json()
    assert (found["origin"], found["run_id"], found["conversation_id"], found["turn"]) == ("api", None, None, None)
    listed = stack.get(tenant.alice, "/api/v1/tool-calls/").json()["results"]
    assert [each["id"] for each in listed] == [str(row["id"])]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "arguments"),
        (b"{", None),
        (b"[]", None),
        (b'{"arguments": []}', "arguments"),
        (b'{"arguments": "text"}', "arguments"),
        (b'{"arguments": {}, "wait": "long"}', "wait"),
        (b'{"arguments": {}, "wait": -1}', "wait"),
        (b'{"arguments": {}, "argument": 1}', "argument"),
        (b'{"arguments": {"a": 1, "a": 2}}', None),
        (b'{"arguments": {"a": NaN}}', None),
        (b'{"arguments": {"title": "\\u0000"}}', "arguments.title"),
        (b'\xff{"arguments": {}}', None),
    ],
)  # fmt: skip
def test_a_body_that_is_none_is_400_and_leaves_nothing(
    stack: Stack, tenant: Cast, body: bytes, field: str | None
) -> None:
    headers = tenant.alice.headers | {"Content-Type": "application/json"}
    answer = httpx.post(f"{stack.url}/api/v1/tools/save_note/calls", content=body, headers=headers)
    assert refused(answer) == (400, "invalid_request")
    if field is not None:
        assert answer.json()["field"] == field
    assert recorded(tenant) == []


def test_a_body_that_is_too_large_is_413(stack: Stack, tenant: Cast) -> None:
    answer = call(stack, tenant.alice, "save_note", NOTE | {"content": "x" * 300_000})
    assert refused(answer) == (413, "content_too_large")
    assert recorded(tenant) == []


def test_a_key_without_the_scope_chat_calls_nothing(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        membership = Membership.objects.get(tenant_id=tenant.id, user_id=tenant.alice.scope.user_id)
        _, key = keys.create(membership=membership, scopes=["tools:read", "history:read"])
    url = f"{stack.url}/api/v1/tools/save_note/calls"
    answer = httpx.post(url, json={"arguments": NOTE}, headers={"Authorization": f"Bearer {key}"})
    assert refused(answer) == (403, "forbidden")
    assert httpx.post(url, json={"arguments": NOTE}).status_code == 401
    assert recorded(tenant) == []


# --- the gates -------------------------------------------------------------------------------------------------------
def _not_elevated(tenant: Cast) -> None:
    with on_login("operator"):
        Grant.objects.create(tenant_id=tenant.id, tool_name="save_note", effect="deny")


def _switched_off(tenant: Cast) -> None:
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="save_note", enabled=False)


def _no_room(tenant: Cast) -> None:
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="save_note", rate="0/m")


def _denying(tenant: Cast) -> None:
    make_rule(tenant, effect="deny", tool_name="save_note", condition=None)


def _nothing(tenant: Cast) -> None:
    """Everything is as it is."""


@pytest.mark.parametrize(
    ("change", "tool", "arguments", "gate", "code", "field"),
    [
        (_nothing, "save_nope", NOTE, "allowlist", "not_allowed", None),
        (_switched_off, "save_note", NOTE, "allowlist", "not_allowed", None),
        (_nothing, "save_note", {"title": 1, "content": "b"}, "schema", "validation_error", "title"),
        (_not_elevated, "save_note", NOTE, "permission", "permission_denied", None),
        (_denying, "save_note", NOTE, "policy", "policy_denied", None),
        (_no_room, "save_note", NOTE, "rate_limit", "rate_limited", None),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_each_gate_refuses_and_the_refusal_is_recorded(
    stack: Stack, tenant: Cast, change: Any, tool: str, arguments: Any, gate: str, code: str, field: str | None
) -> None:
    change(tenant)
    answer = call(stack, tenant.alice, tool, arguments)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["status"], body["error"]["code"], body["error"].get("field")) == ("error", code, field)
    assert body["error"]["message"]
    [row] = recorded(tenant)
    assert (row["tool_name"], row["error_code"], row["decision"][-1]["gate"]) == (tool, code, gate)
    assert entries(row["id"]) == ["proposed", "settled"]
    assert notes(tenant) == 0


def test_wrong_arguments_are_nobodys_retries(stack: Stack, tenant: Cast) -> None:
    for _ in range(4):
        error = call(stack, tenant.alice, "save_note", {"title": "a"}).json()["error"]
        assert error["message"].endswith("Correct the arguments and call save_note again.")
    assert {row["decision"][-1]["user"] for row in recorded(tenant)} == {"The arguments for save_note were not valid."}


def test_an_agents_tools_do_not_limit_a_call_without_an_agent(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(tools=["list_tasks"], max_tier="read_only")
    assert call(stack, tenant.alice, "save_note", NOTE).json()["status"] == "success"


def test_calls_and_chats_share_one_rate_limit(stack: Stack) -> None:
    tenant = make_unhurried_tenant()
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="save_note", rate="2/h")
    stack.chat(tenant.alice, f"call: save_note {json.dumps(NOTE)}")
    codes = [call(stack, tenant.alice, "save_note", NOTE).json()["error"] for _ in range(2)]
    assert codes[0] is None and codes[1]["code"] == "rate_limited"
    assert notes(tenant) == 2


# --- humans ----------------------------------------------------------------------------------------------------------
def test_an_elevated_call_waits_and_runs_once_it_is_approved(stack: Stack, tenant: Cast) -> None:
    body = held(stack, tenant.alice)
    request = uuid.UUID(body["approval_id"])
    shown = stack.get(tenant.carol, f"/api/v1/approvals/{request}/").json()
    assert (shown["run_id"], shown["conversation_id"], shown["agent"], shown["context"]) == (None, None, "", [])
    assert (shown["tool_call_id"], shown["input"], shown["decidable"]) == (body["id"], MAIL, True)
    assert decide(stack, tenant.carol, request, "approve", reason="fine").status_code == 200
    found = polled(stack, tenant.alice, body["id"])
    assert (found["status"], found["output"]["to"]) == ("success", MAIL["to"])
    [row] = recorded(tenant)
    resumed = [gate["gate"] for gate in row["resumed_decision"]]
    assert resumed == ["allowlist", "binding", "schema", "permission", "policy", "rate_limit", "approval"]
    assert row["attempt"] == 1
    assert entries(row["id"]) == ["proposed", "decided", "settled"]
    [asked] = rows("SELECT * FROM approval_requests WHERE id = %(id)s", id=request)
    assert (asked["run_id"], asked["conversation_id"]) == (None, None)
    assert asked["used_at"] is not None


def test_a_call_that_waits_long_enough_is_answered_once_it_was_approved(stack: Stack, tenant: Cast) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(call, stack, tenant.alice, "send_email", MAIL, wait=80)
        query = "SELECT id FROM approval_requests WHERE tenant_id = %(t)s"
        request = until(lambda: rows(query, t=tenant.id))[0]["id"]
        assert decide(stack, tenant.carol, request, "approve").status_code == 200
        answer = waiting.result()
    assert (answer.status_code, answer.json()["status"]) == (200, "success")


def test_a_denied_call_ends_with_the_reason(stack: Stack, tenant: Cast) -> None:
    body = held(stack, tenant.alice)
    assert decide(stack, tenant.carol, uuid.UUID(body["approval_id"]), "deny", reason="not now").status_code == 200
    found = polled(stack, tenant.alice, body["id"])
    assert found["error"]["code"] == "approval_denied" and "not now" in found["error"]["message"]
    assert entries(body["id"]) == ["proposed", "decided", "settled"]
    [asked] = rows("SELECT used_at FROM approval_requests WHERE id = %(id)s", id=body["approval_id"])
    assert asked["used_at"] is not None


async def test_a_call_that_nobody_decides_about_expires(stack: Stack, tenant: Cast) -> None:
    body = held(stack, tenant.alice)
    overdue(uuid.UUID(body["approval_id"]))
    await sweeper.sweep()
    [row] = recorded(tenant)
    assert (row["status"], row["error_code"]) == ("error", "approval_expired")
    assert entries(body["id"]) == ["proposed", "settled"]


def test_who_asked_may_withdraw_and_may_not_approve(stack: Stack, tenant: Cast) -> None:
    body = held(stack, tenant.carol)
    request = uuid.UUID(body["approval_id"])
    assert refused(decide(stack, tenant.carol, request, "approve")) == (403, "own_request")
    assert decide(stack, tenant.carol, request, "cancel").status_code == 200
    assert polled(stack, tenant.carol, body["id"])["error"]["code"] == "cancelled"
    assert refused(decide(stack, tenant.olga, request, "approve")) == (409, "already_decided")


def test_an_edited_call_runs_with_what_was_approved(stack: Stack, tenant: Cast) -> None:
    body = held(stack, tenant.alice)
    edited = MAIL | {"to": "carol@example.com"}
    request = uuid.UUID(body["approval_id"])
    assert decide(stack, tenant.carol, request, "approve", arguments=edited).status_code == 200
    assert polled(stack, tenant.alice, body["id"])["output"]["to"] == "carol@example.com"
    assert recorded(tenant)[0]["approved_input"] == edited


def test_an_approved_call_meets_every_gate_once_more(stack: Stack, tenant: Cast) -> None:
    body = held(stack, tenant.alice)
    with on_login("operator"):
        Grant.objects.create(tenant_id=tenant.id, tool_name="send_email", effect="deny")
    assert decide(stack, tenant.carol, uuid.UUID(body["approval_id"]), "approve").status_code == 200
    found = polled(stack, tenant.alice, body["id"])
    assert found["error"]["code"] == "permission_denied"
    [row] = recorded(tenant)
    assert (row["resumed_decision"][-1]["gate"], row["started_at"], row["attempt"]) == ("permission", None, 0)


def test_a_rule_approves_no_more_calls_than_it_has_uses(stack: Stack, tenant: Cast) -> None:
    make_rule(tenant, tool_name="send_email", condition=None, uses_left=3)
    together = threading.Barrier(6)

    def send(_: int) -> int:
        together.wait()
        return call(stack, tenant.alice, "send_email", MAIL).status_code

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(send, range(6))) == [200, 200, 200, 202, 202, 202]
    assert [row["uses_left"] for row in rows("SELECT uses_left FROM approval_rules WHERE tenant_id = %(t)s",
                                             t=tenant.id)] == [0]  # fmt: skip
