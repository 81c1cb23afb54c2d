"""A call without a chat: its Idempotency-Key, its erasure, and what is left of it."""

import json
import os
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg

from gateway.operations import sweeper
from tenants.scope.routing import on_login
from tests.approvals.api import decide, refused
from tests.audit.logs import seal_now
from tests.audit.outsiders import checked
from tests.audit.test_receipts import vkey
from tests.database import rows
from tests.pages.call_rows import signed_in
from tests.pages.test_downloads import _exported
from tests.people import Cast, Person, make_unhurried_tenant
from tests.rest.tool_calls import MAIL, NOTE, call, entries, held, notes, recorded
from tests.stack import Stack
from tools.models import ToolSetting


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
