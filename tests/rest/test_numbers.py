"""Numbers that PostgreSQL writes out in full: whatever was saved, no list breaks of it."""

import json
from typing import Any

import httpx
import orjson
import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.db.models import JSONField

from audit.canonical import sha256_hex
from tenants.scope import jsonb
from tests.approvals.requests import held
from tests.approvals.rules import make_rule
from tests.approvals.sockets import Socket, page
from tests.browser.sessions import session_of
from tests.database import rows
from tests.pages.call_rows import row, signed_in
from tests.people import Cast
from tests.stack import Stack

HUGE = {"double": 1e300, "two to the 64th": 2.0**64, "one": 1, "most": 2**53 - 1, "small": -1e-300, "fraction": 0.1}
# As nobody but whoever has the database can have saved them.
FOREIGN = f'{{"int": {"9" * 30}, "negative": -{"9" * 30}, "beyond": 1e400, "fraction": {"9" * 400}.5}}'
READ = {"int": 1e30, "negative": -1e30, "beyond": "1" + "0" * 400, "fraction": "9" * 400 + ".5"}


def overwrite(table: str, column: str, id: Any, text: str) -> None:
    """Put JSON text into a row as it stands, past every guard."""
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
        owner.execute(f"UPDATE {table} SET {column} = %s::jsonb WHERE id = %s".encode(), [text, id])
        owner.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER".encode())


@pytest.mark.parametrize(
    "value", [0, -1, 2**53 - 1, -(2**53) + 1, 2.0**53, 1e15, 1e16, 2.0**64, 1e300, 1e308, -0.5, 5e-324]
)
def test_a_number_comes_back_from_jsonb_as_it_was_saved(value: float) -> None:
    [found] = rows("SELECT %(v)s::jsonb::text AS text", v=json.dumps(value))
    again = jsonb.loads(found["text"])
    assert again == value
    assert sha256_hex(again) == sha256_hex(value)
    assert orjson.loads(orjson.dumps(again)) == value


def test_what_no_double_can_hold_is_its_digits() -> None:
    [found] = rows("SELECT %(v)s::jsonb::text AS text", v=FOREIGN)
    again = jsonb.loads(found["text"])
    assert again == READ
    assert orjson.loads(orjson.dumps(again)) == READ


def test_every_model_reads_jsonb_through_the_one_decoder() -> None:
    ours = {"tenants", "audit", "tools", "approvals", "gateway"}
    fields = [
        field
        for model in apps.get_models()
        if model._meta.app_label in ours
        for field in model._meta.get_fields()
        if isinstance(field, JSONField)
    ]
    assert len(fields) > 10
    assert [str(field) for field in fields if field.decoder is not jsonb.Decoder] == []


def test_a_rule_about_a_huge_number_is_listed_tried_and_applied(stack: Stack, tenant: Cast) -> None:
    condition = {"properties": {"limit": {"const": 1e308}}, "required": ["limit"]}
    rule = make_rule(tenant, effect="deny", tool_name="list_tasks", expires_at=None, condition=condition)
    foreign = make_rule(tenant, effect="deny", tool_name="add_task", expires_at=None, condition=condition)
    overwrite("approval_rules", "condition", foreign.id, '{"maxProperties": 1%s}' % ("0" * 500))
    listed = stack.get(tenant.olga, "/api/v1/approval-rules/")
    assert listed.status_code == 200
    found = {each["id"]: each["condition"] for each in listed.json()["results"]}
    assert found == {str(rule.id): condition, str(foreign.id): {"maxProperties": "1" + "0" * 500}}
    assert stack.get(tenant.olga, f"/api/v1/approval-rules/{rule.id}/").json()["condition"] == condition
    assert signed_in(tenant.olga).get("/approvals/rules/").status_code == 200
    body = stack.chat(tenant.alice, 'call: list_tasks {"limit": 5}\ncall: add_task {"title": "x"}').json()
    # What is no condition at all cannot be decided, and so denies.
    assert [call["error"] and call["error"]["code"] for call in body["tool_calls"]] == [None, "policy_denied"]


def test_a_rule_is_made_with_a_huge_number_over_rest(stack: Stack, tenant: Cast) -> None:
    wanted = {
        "name": "Huge", "effect": "deny", "tool": "list_tasks",
        "condition": {"properties": {"limit": {"const": 1e308}}, "required": ["limit"]},
    }  # fmt: skip
    for number in ("1e308", "18446744073709551616", "9" * 30):
        text = json.dumps(wanted).replace("1e+308", number)
        headers = tenant.olga.headers | {"Content-Type": "application/json"}
        made = httpx.post(f"{stack.url}/api/v1/approval-rules/", content=text, headers=headers)
        assert made.status_code in (201, 400), made.text
        listed = stack.get(tenant.olga, "/api/v1/approval-rules/")
        assert listed.status_code == 200
    assert len(listed.json()["results"]) >= 1


@pytest.mark.parametrize("foreign", [False, True])
def test_calls_with_huge_numbers_are_listed_shown_and_exported(stack: Stack, tenant: Cast, foreign: bool) -> None:
    shown = READ if foreign else HUGE
    hashed = {} if foreign else {"params_hash": sha256_hex(HUGE), "output_hash": sha256_hex(HUGE)}
    call = row(tenant.alice, input=HUGE, output=HUGE, output_bytes=100, **hashed)
    if foreign:
        for column in ("input", "output", "decision", "side_effects"):
            overwrite("tool_calls", column, call, FOREIGN if column in ("input", "output") else f"[{FOREIGN}]")
    listed = stack.get(tenant.alice, "/api/v1/tool-calls/")
    assert listed.status_code == 200
    [found] = listed.json()["results"]
    assert (found["input"], found["output"]) == (shown, shown)
    for path in (f"/api/v1/tool-calls/{call}/", f"/api/v1/tool-calls/{call}/receipt/"):
        answer = stack.get(tenant.alice, path)
        assert answer.status_code == 200, path
        assert answer.json().get("input", shown) == shown
    for path in ("/history/", f"/history/{call}/"):
        assert signed_in(tenant.alice).get(path).status_code == 200, path
    for form in ("csv", "jsonl"):
        export = httpx.get(f"{stack.url}/history/export.{form}", cookies={"sessionid": session_of(tenant.alice)})
        assert export.status_code == 200
        assert str(call) in export.text
        assert "Infinity" not in export.text


@pytest.mark.parametrize("number", ["1e300", "18446744073709551616.0", "-1e308"])
def test_a_run_whose_model_sent_a_huge_number_is_shown_everywhere(stack: Stack, tenant: Cast, number: str) -> None:
    body = stack.chat(tenant.alice, f'call: list_tasks {{"limit": {number}}}').json()
    assert [call["input"] for call in body["tool_calls"]] == [{"limit": float(number)}]
    run, conversation = body["run_id"], body["conversation_id"]
    for path in (f"runs/{run}", f"runs/{run}/trace", f"runs/{run}/events", f"conversations/{conversation}/messages/"):
        assert stack.get(tenant.alice, f"/api/v1/{path}").status_code == 200, path
    for path in (f"/?conversation={conversation}", f"/history/runs/{run}/"):
        assert signed_in(tenant.alice).get(path).status_code == 200, path
    again = stack.chat(tenant.alice, 'call: list_tasks {"limit": 5}', conversation_id=conversation)
    assert (again.status_code, again.json()["status"]) == (200, "completed")


@pytest.mark.parametrize("foreign", [False, True])
def test_approvals_of_huge_numbers_are_listed_over_rest_and_socket(stack: Stack, tenant: Cast, foreign: bool) -> None:
    request = held(tenant.alice, input=HUGE)
    if foreign:
        [call] = rows("SELECT call_id FROM approval_requests WHERE id = %(id)s", id=request)
        overwrite("tool_calls", "input", call["call_id"], FOREIGN)
        overwrite("approval_requests", "context", request, f'[{{"role": "user", "text": "x", "cut": {"9" * 30}}}]')
    shown = READ if foreign else HUGE
    listed = stack.get(tenant.carol, "/api/v1/approvals/?status=pending")
    assert listed.status_code == 200
    assert [each["input"] for each in listed.json()["results"]] == [shown]
    assert stack.get(tenant.carol, f"/api/v1/approvals/{request}/").json()["input"] == shown
    assert signed_in(tenant.carol).get("/approvals/").status_code == 200
    with Socket(stack, page(stack, tenant.carol)) as socket:
        assert socket.ready() == 1
