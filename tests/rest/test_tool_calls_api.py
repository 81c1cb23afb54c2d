"""`POST /api/v1/tools/{name}/calls`: a call without a chat meets the same gates, record, workers and humans."""

import json
import os
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from gateway.models import Agent
from gateway.operations import sweeper
from tenants.models import Membership
from tenants.people import keys
from tenants.scope.routing import on_login
from tests.approvals.api import decide, overdue, refused
from tests.approvals.rules import make_rule
from tests.audit.logs import seal_now
from tests.audit.outsiders import checked
from tests.audit.test_receipts import vkey
from tests.database import rows
from tests.pages.call_rows import signed_in
from tests.pages.test_downloads import _exported
from tests.people import Cast, Person, make_unhurried_tenant
from tests.stack import Stack
from tests.waiting import until
from tools.models import Grant, ToolSetting

NOTE = {"title": "Milk", "content": "Two litres"}
MAIL = {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}
FINAL = ("success", "error")


def call(stack: Stack, person: Person, tool: str, arguments: Any, *, key: str = "", **more: Any) -> httpx.Response:
    """One call as a person."""
    headers = person.headers | ({"Idempotency-Key": key} if key else {})
    body = {"arguments": arguments, **more}
    return httpx.post(f"{stack.url}/api/v1/tools/{tool}/calls", json=body, headers=headers)


def polled(stack: Stack, person: Person, call_id: str) -> dict[str, Any]:
    """The call as the history shows it, once it is final."""

    def look() -> Any:
        found = stack.get(person, f"/api/v1/tool-calls/{call_id}/").json()
        return found if found["status"] in FINAL else None

    found: dict[str, Any] = until(look)
    return found


def recorded(tenant: Cast) -> list[dict[str, Any]]:
    """The tenant's calls, as the table holds them."""
    return rows("SELECT * FROM tool_calls WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)


def notes(tenant: Cast) -> int:
    """How many notes the tenant has."""
    return len(rows("SELECT id FROM notes WHERE tenant_id = %(t)s", t=tenant.id))


def entries(call_id: Any) -> list[str]:
    """The kinds of the call's ledger entries, in order."""
    query = "SELECT kind FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq"
    return [row["kind"] for row in rows(query, id=call_id)]


def held(stack: Stack, person: Person, **more: Any) -> dict[str, Any]:
    """A mail that waits for a human."""
    answer = call(stack, person, "send_email", MAIL, **more)
    assert answer.status_code == 202, answer.text
    body: dict[str, Any] = answer.json()
    assert body["status"] == "awaiting_approval"
    return body


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


# --- Idempotency-Key -------------------------------------------------------------------------------------------------
def test_the_same_key_and_body_are_the_same_call(stack: Stack, tenant: Cast) -> None:
    key = uuid.uuid4().hex
    first = call(stack, tenant.alice, "save_note", NOTE, key=key)
    again = call(stack, tenant.alice, "save_note", dict(reversed(NOTE.items())), key=key, wait=5)
    assert again.json() == first.json()
    assert (len(recorded(tenant)), notes(tenant)) == (1, 1)
    assert call(stack, tenant.bob, "save_note", NOTE, key=key).json()["id"] != first.json()["id"]


def test_a_key_is_not_for_another_body_another_tool_or_a_chat(stack: Stack, tenant: Cast) -> None:
    key, chats = uuid.uuid4().hex, uuid.uuid4().hex
    assert call(stack, tenant.alice, "save_note", NOTE, key=key).status_code == 200
    others = [
        call(stack, tenant.alice, "save_note", NOTE | {"title": "Tea"}, key=key),
        call(stack, tenant.alice, "add_task", NOTE, key=key),
        stack.chat(tenant.alice, "hello", headers={"Idempotency-Key": key}),
    ]
    assert stack.chat(tenant.alice, "hello", headers={"Idempotency-Key": chats}).status_code == 200
    others.append(call(stack, tenant.alice, "save_note", NOTE, key=chats))
    assert [refused(answer) for answer in others] == [(422, "idempotency_mismatch")] * 4
    assert (len(recorded(tenant)), notes(tenant)) == (1, 1)
    assert len(rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id)) == 1


def test_twenty_duplicates_at_once_are_one_call_and_are_counted_once(stack: Stack) -> None:
    tenant = make_unhurried_tenant()
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="save_note", rate="1/h")
    key, together = uuid.uuid4().hex, threading.Barrier(20)

    def ask(_: int) -> httpx.Response:
        together.wait()
        return call(stack, tenant.alice, "save_note", NOTE, key=key)

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].json()["status"] == "success"
    assert (len(recorded(tenant)), notes(tenant)) == (1, 1)


def test_the_same_key_finds_a_call_that_still_waits(stack: Stack, tenant: Cast) -> None:
    key = uuid.uuid4().hex
    first = held(stack, tenant.alice, key=key)
    assert held(stack, tenant.alice, key=key)["id"] == first["id"]
    assert len(rows("SELECT id FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)) == 1


def test_a_claim_that_was_lost_with_its_process_runs_out(stack: Stack, tenant: Cast) -> None:
    key = uuid.uuid4().hex
    assert call(stack, tenant.alice, "save_note", NOTE, key=key).status_code == 200
    lost = "UPDATE idempotency_keys SET call_id = NULL, claimed_until = now() + interval '1 s' WHERE key = %s"
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        assert owner.execute(lost, [key]).rowcount == 1
    assert call(stack, tenant.alice, "save_note", NOTE, key=key).status_code == 200
    assert (len(recorded(tenant)), notes(tenant)) == (2, 2)


async def test_a_key_is_forgotten_after_24_hours(stack: Stack, tenant: Cast) -> None:
    key = uuid.uuid4().hex
    first = call(stack, tenant.alice, "save_note", NOTE, key=key).json()["id"]
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        owner.execute("UPDATE idempotency_keys SET created_at = now() - interval '24 h 1 s' WHERE key = %s", [key])
    await sweeper.tidy()
    assert call(stack, tenant.alice, "save_note", NOTE, key=key).json()["id"] != first


# --- erasure ---------------------------------------------------------------------------------------------------------
def _erase(stack: Stack, person: Person, **subject: str) -> httpx.Response:
    return httpx.post(f"{stack.url}/api/v1/erasures/", json=subject, headers=person.headers)


def test_an_erased_call_keeps_its_key_used_and_its_log_intact(stack: Stack, tenant: Cast) -> None:
    key = uuid.uuid4().hex
    body = call(stack, tenant.alice, "save_note", NOTE, key=key).json()
    assert _erase(stack, tenant.alice, call=body["id"]).status_code in (200, 201)
    [row] = recorded(tenant)
    assert (row["origin"], row["input"], row["row_key"]) == ("api", None, None)
    assert entries(body["id"]) == ["proposed", "settled", "erased"]
    assert refused(call(stack, tenant.alice, "save_note", NOTE, key=key)) == (422, "idempotency_mismatch")
    [kept] = rows("SELECT request_hash FROM idempotency_keys WHERE key = %(k)s", k=key)
    assert bytes(kept["request_hash"]) == b""
    assert notes(tenant) == 1


def test_nothing_is_erased_from_under_a_call_that_is_not_final(stack: Stack, tenant: Cast) -> None:
    body = held(stack, tenant.alice)
    for subject in ({"call": body["id"]}, {"user": str(tenant.alice.scope.user_id)}):
        assert refused(_erase(stack, tenant.alice, **subject)) == (409, "still_open")
    [row] = recorded(tenant)
    assert (row["status"], row["input"]) == ("awaiting_approval", MAIL)


# --- what is left of it ----------------------------------------------------------------------------------------------
def test_another_user_and_another_tenant_see_nothing_of_it(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    body = held(stack, tenant.alice)
    for person in (tenant.bob, other_tenant.alice, other_tenant.olga):
        assert stack.get(person, f"/api/v1/tool-calls/{body['id']}/").status_code == 404
    assert stack.get(other_tenant.carol, f"/api/v1/approvals/{body['approval_id']}/").status_code == 404
    assert decide(stack, other_tenant.carol, uuid.UUID(body["approval_id"]), "approve").status_code == 404
    assert recorded(tenant)[0]["status"] == "awaiting_approval"


def test_the_pages_show_a_call_without_a_chat(stack: Stack, tenant: Cast) -> None:
    done = call(stack, tenant.alice, "save_note", NOTE).json()
    waiting = held(stack, tenant.alice)
    client = signed_in(tenant.alice)
    assert done["id"] in client.get("/history/").content.decode()
    for each in (done, waiting):
        page = client.get(f"/history/{each['id']}/")
        assert page.status_code == 200
        text = page.content.decode()
        assert "Over the API, without a chat" in text
        assert "Open it in the chat" not in text and "Place in the run" not in text and "None" not in text
    approver = signed_in(tenant.carol)
    assert waiting["approval_id"] in approver.get("/approvals/").content.decode()
    assert "send_email" in approver.get(f"/approvals/{waiting['approval_id']}/").content.decode()
    decided = decide(stack, tenant.carol, uuid.UUID(waiting["approval_id"]), "deny")
    assert decided.status_code == 200
    assert "The call ended on" in client.get(f"/history/{waiting['id']}/").content.decode()
    _, exported = _exported(tenant.alice, "/history/export.csv")
    assert done["id"] in exported and waiting["id"] in exported


def test_its_receipt_is_proven_with_nothing_but_the_public_key(stack: Stack, tenant: Cast, tmp_path: Path) -> None:
    body = call(stack, tenant.alice, "save_note", NOTE).json()
    seal_now()
    receipt = stack.get(tenant.alice, f"/api/v1/tool-calls/{body['id']}/receipt/").json()
    assert receipt["origin"] == "api"
    code, said = checked(tmp_path, json.dumps(receipt), vkey())
    assert code == 0, said
    assert "origin" in said
    code, said = checked(tmp_path, json.dumps(receipt | {"origin": "chat"}), vkey())
    assert (code, "origin is not what was committed to" in said) == (1, True)
