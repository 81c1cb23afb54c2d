"""Who reads which approval requests over REST, in which shape, and at what cost."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.requests import queue
from audit.canonical import sha256_hex
from audit.identifiers import uuid7
from tenants.models import Membership
from tenants.people import keys
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.approvals.api import PATH, decide, listed, overdue
from tests.approvals.requests import INPUT, held
from tests.people import Cast
from tests.stack import Stack

# BEGIN, the scope, the key, the requests, their decisions, COMMIT; one more than a page without decisions.
PIN = 6


@pytest.mark.parametrize("reader", ["carol", "dana", "olga"])
def test_approvers_auditors_and_owners_read_the_tenants_requests_newest_first(
    stack: Stack, tenant: Cast, reader: str
) -> None:
    made = [held(person) for person in (tenant.alice, tenant.bob, tenant.carol)]
    assert listed(stack, getattr(tenant, reader)) == made[::-1]


def test_a_member_reads_their_own_requests_and_not_the_queue(stack: Stack, tenant: Cast) -> None:
    own = held(tenant.alice)
    answer = stack.get(tenant.alice, f"{PATH}{own}/")
    assert (answer.status_code, answer.json()["mine"], answer.json()["decidable"]) == (200, True, False)
    answer = stack.get(tenant.bob, f"{PATH}{own}/")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    answer = stack.get(tenant.alice, PATH)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_a_key_that_was_narrowed_reads_and_decides_no_more_than_its_scopes_say(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with on_login("operator"):
        membership = Membership.objects.get(tenant_id=tenant.id, user_id=tenant.carol.scope.user_id)
        _, reading = keys.create(membership=membership, scopes=["approvals:read"])
        _, chatting = keys.create(membership=membership, scopes=["chat"])
    carol = type(tenant.carol)(tenant.carol.username, reading, tenant.carol.principal)
    answer = stack.get(carol, f"{PATH}{request}/")
    assert (answer.status_code, answer.json()["decidable"]) == (200, False)
    assert decide(stack, carol, request, "approve").status_code == 403
    carol = type(tenant.carol)(tenant.carol.username, chatting, tenant.carol.principal)
    assert stack.get(carol, PATH).status_code == 403


def test_another_tenants_requests_are_not_there(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    foreign = held(other_tenant.alice)
    for reader in (tenant.carol, tenant.dana, tenant.olga):
        assert listed(stack, reader) == []
        assert listed(stack, reader, user=str(other_tenant.alice.scope.user_id)) == []
    for reader in (tenant.carol, tenant.dana, tenant.olga, tenant.bob):
        for request in (foreign, uuid7()):
            answer = stack.get(reader, f"{PATH}{request}/")
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_request_tells_everything_that_an_approver_needs(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2, agent="helper")
    decide(stack, tenant.carol, request, "approve", reason="Fine with me.")
    body = stack.get(tenant.olga, f"{PATH}{request}/").json()
    made = {name: body.pop(name) for name in ("created_at", "expires_at", "run_id", "conversation_id", "tool_call_id")}
    decision = body["decisions"].pop()
    assert body == {
        "id": str(request), "status": "pending", "tool": "save_note", "tier": "elevated",
        "why": "save_note is elevated: a human has to approve it", "input": INPUT, "approved_input": None,
        "params_hash": sha256_hex(INPUT),
        "user": {"id": str(tenant.alice.scope.user_id), "username": tenant.alice.username}, "agent": "helper",
        "context": [{"role": "user", "text": "Please save a note.", "cut": 0}], "approvals_needed": 2, "approvals": 1,
        "decided_at": None, "used_at": None, "decisions": [], "mine": False, "decidable": True,
    }  # fmt: skip
    assert datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(made["created_at"]) == timedelta(days=1)
    assert all(uuid.UUID(made[name]) for name in ("run_id", "conversation_id", "tool_call_id"))
    del decision["id"], decision["created_at"]
    assert decision == {
        "user": {"id": str(tenant.carol.scope.user_id), "username": tenant.carol.username}, "verdict": "approve",
        "reason": "Fine with me.", "via": "api", "edit": None, "counts": True,
    }  # fmt: skip


def test_a_name_is_null_once_its_bearer_has_left_the_tenant(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with on_login("operator"):
        Membership.objects.filter(tenant_id=tenant.id, user_id=tenant.alice.scope.user_id).delete()
    user = stack.get(tenant.carol, f"{PATH}{request}/").json()["user"]
    assert user == {"id": str(tenant.alice.scope.user_id), "username": None}


@pytest.mark.parametrize(
    ("reader", "mine", "decidable"),
    [("carol", True, False), ("olga", False, True), ("dana", False, False)],
)
def test_it_says_whether_the_reader_may_decide(
    stack: Stack, tenant: Cast, reader: str, mine: bool, decidable: bool
) -> None:
    request = held(tenant.carol)
    body = stack.get(getattr(tenant, reader), f"{PATH}{request}/").json()
    assert (body["mine"], body["decidable"]) == (mine, decidable)


def test_nobody_may_decide_twice_or_too_late(stack: Stack, tenant: Cast) -> None:
    voted, late = held(tenant.alice, approvals_needed=2), held(tenant.alice)
    decide(stack, tenant.carol, voted, "approve")
    overdue(late)
    for request in (voted, late):
        assert stack.get(tenant.carol, f"{PATH}{request}/").json()["decidable"] is False
    assert stack.get(tenant.olga, f"{PATH}{voted}/").json()["decidable"] is True


def test_by_status_and_what_is_overdue_counts_as_expired(stack: Stack, tenant: Cast) -> None:
    approved, denied, cancelled, late, waiting = (held(tenant.alice) for _ in range(5))
    decide(stack, tenant.carol, approved, "approve")
    decide(stack, tenant.carol, denied, "deny")
    decide(stack, tenant.alice, cancelled, "cancel")
    overdue(late)
    expected = {"approved": approved, "denied": denied, "cancelled": cancelled, "expired": late, "pending": waiting}
    for status, request in expected.items():
        assert listed(stack, tenant.dana, status=status) == [request]
        assert stack.get(tenant.dana, f"{PATH}{request}/").json()["status"] == status
    assert len(listed(stack, tenant.dana)) == 5


def test_by_tool_user_and_age(stack: Stack, tenant: Cast) -> None:
    old = held(tenant.bob, "add_task", created_at=datetime.now(UTC) - timedelta(hours=2))
    new = held(tenant.alice)
    assert listed(stack, tenant.carol, tool="save_note") == [new]
    assert listed(stack, tenant.carol, tool="add_task", status="pending") == [old]
    assert listed(stack, tenant.carol, tool="none") == []
    assert listed(stack, tenant.carol, user=tenant.bob.username) == [old]
    assert listed(stack, tenant.carol, user=str(tenant.alice.scope.user_id)) == [new]
    for age in ("3600", "3600s", "60m", "1h"):
        assert listed(stack, tenant.carol, older_than=age) == [old]
    assert listed(stack, tenant.carol, older_than="3h") == []
    assert listed(stack, tenant.carol, older_than="0") == [new, old]


@pytest.mark.parametrize(
    "query",
    [{"status": "waiting"}, {"older_than": "soon"}, {"older_than": "-1"}, {"older_than": "9999999d"}],
)
def test_a_filter_that_makes_no_sense_is_a_400(stack: Stack, tenant: Cast, query: dict[str, str]) -> None:
    answer = stack.get(tenant.carol, PATH, params=query)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert list(answer.json()["errors"]) == list(query)


def test_a_filter_with_a_nul_is_a_400(stack: Stack, tenant: Cast) -> None:
    answer = stack.get(tenant.carol, PATH, params={"tool": "\x00"})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_pages_follow_each_other_without_gap_or_repetition(stack: Stack, tenant: Cast) -> None:
    made = [held(tenant.alice) for _ in range(5)]
    seen: list[uuid.UUID] = []
    address: Any = f"{PATH}?limit=2&status=pending"
    while address:
        page = stack.get(tenant.carol, address).json()
        seen += [uuid.UUID(each["id"]) for each in page["results"]]
        address = (page["next"] or "").removeprefix(stack.url)
    assert seen == made[::-1]
    assert stack.get(tenant.carol, f"{PATH}?cursor=nonsense").status_code == 404


def test_a_page_costs_the_same_queries_however_many_requests_it_has(tenant: Cast) -> None:
    client = Client(headers=tenant.carol.headers)
    client.get(PATH)
    counts = []
    for more in (1, 20):
        for _ in range(more):
            held(tenant.alice)
        with CaptureQueriesContext(connections["default"]) as queries:
            assert len(client.get(PATH).json()["results"]) >= more
        counts.append(len(queries.captured_queries))
    assert counts == [PIN, PIN], [query["sql"] for query in queries.captured_queries]


def test_the_count_of_what_waits_stops_where_it_is_told_to(tenant: Cast, other_tenant: Cast) -> None:
    made = [held(tenant.alice) for _ in range(4)]
    overdue(made[0])
    held(other_tenant.alice)
    assert queue.waiting(tenant.carol.principal) == 3
    assert queue.waiting(tenant.carol.principal, 2) == 2


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90", timedelta(seconds=90)), ("15m", timedelta(minutes=15)), ("3d", timedelta(days=3)),
        (" 2h ", timedelta(hours=2)), ("", None), ("1w", None), ("-5", None), ("1.5h", None), ("٣", None),
        ("999999999d", None),
    ],
)  # fmt: skip
def test_a_time_span_as_people_write_it(text: str, span: timedelta | None) -> None:
    assert queue.age(text) == span


def test_the_oldest_age_that_is_taken_can_be_asked_for(tenant: Cast) -> None:
    longest = queue.age("18262d")
    assert longest is not None
    with transactions.scope(*tenant.carol.scope):
        assert list(queue.narrowed(queue.visible(), older_than=longest)) == []
