"""Verdicts over REST: who may give them, what they change, and what they leave alone."""

import asyncio
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import httpx
import psycopg
import pytest

from approvals.requests import repository
from tenants.models import Membership, User
from tenants.scope.routing import on_login
from tenants.scope.transactions import transaction
from tests.approvals.api import assert_untouched, decide, decision_rows, ledger_kinds, overdue, refused, request_row
from tests.approvals.requests import EDITED, held
from tests.database import waited_for
from tests.people import Cast, Person
from tests.stack import Stack

VERDICTS = ["approve", "deny"]


def _make(person: Person, **changes: Any) -> None:
    with on_login("operator"):
        User.objects.filter(pk=person.principal.user_id).update(**changes)


def _role(person: Person, role: str) -> None:
    with on_login("operator"):
        Membership.objects.filter(tenant_id=person.scope.tenant_id, user_id=person.scope.user_id).update(role=role)


# --- what a verdict does ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("decider", ["carol", "olga"])
def test_an_approver_or_owner_approves(stack: Stack, tenant: Cast, decider: str) -> None:
    request = held(tenant.alice)
    answer = decide(stack, getattr(tenant, decider), request, "approve", reason="Fine\nwith me.")
    assert answer.status_code == 200
    assert (answer.json()["id"], answer.json()["status"], answer.json()["decidable"]) == (
        str(request),
        "approved",
        False,
    )
    row, decided = request_row(request), decision_rows(request)
    assert (row["status"], row["call_status"], row["approved_input"]) == ("approved", "awaiting_approval", None)
    assert row["usable_until"] >= row["expires_at"]
    assert [(each["verdict"], each["reason"], each["via"], each["edit"]) for each in decided] == [
        ("approve", "Fine\nwith me.", "api", None)
    ]
    assert decided[0]["params_hash"] == row["params_hash"]
    assert ledger_kinds(request) == ["decided"]


def test_denying_ends_the_call_with_the_reason(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    answer = decide(stack, tenant.carol, request, "deny", reason="Not on a Sunday.")
    assert (answer.status_code, answer.json()["status"]) == (200, "denied")
    row = request_row(request)
    assert (row["status"], row["call_status"], row["error_code"]) == ("denied", "error", "approval_denied")
    assert row["error_message"].endswith("The reason given: Not on a Sunday.")
    assert ledger_kinds(request) == ["decided", "settled"]


def test_the_one_who_asked_withdraws(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    answer = decide(stack, tenant.alice, request, "cancel")
    assert (answer.status_code, answer.json()["status"], answer.json()["mine"]) == (200, "cancelled", True)
    row = request_row(request)
    assert (row["call_status"], row["error_code"], decision_rows(request)) == ("error", "cancelled", [])
    assert ledger_kinds(request) == ["settled"]


async def test_an_approval_is_used_once(tenant: Cast) -> None:
    now = datetime.now(UTC)
    approved = {"status": "approved", "decided_at": now, "usable_until": now + timedelta(hours=1)}
    request = await asyncio.to_thread(held, tenant.alice, **approved)
    async with transaction(tenant.alice.scope) as connection:
        taken = await repository.take(connection, request)
    assert taken is not None and taken.used_at is not None
    async with transaction(tenant.alice.scope) as connection:
        assert await repository.take(connection, request) is None
    assert request_row(request)["used_at"] == taken.used_at


@pytest.mark.parametrize(
    "change",
    [
        "status = 'pending'",
        "status = 'denied'",
        "params_hash = 'of another'",
        "approvals_needed = 1 + approvals_needed",
        "usable_until = usable_until + interval '1 hour'",
        "call_id = gen_random_uuid()",
        "used_at = now(), status = 'denied'",
    ],
)
def test_a_decided_request_is_not_rewritten_by_any_login(stack: Stack, tenant: Cast, change: str) -> None:
    request = held(tenant.alice)
    assert decide(stack, tenant.carol, request, "approve").status_code == 200
    before = request_row(request)
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner, pytest.raises(psycopg.IntegrityError) as refused:
        owner.execute(f"UPDATE approval_requests SET {change} WHERE id = %s".encode(), [request])
    assert "is decided" in str(refused.value)
    assert request_row(request) == before


# --- who may not -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("person", ["bob", "dana"])
def test_members_and_auditors_decide_nothing(stack: Stack, tenant: Cast, person: str, verdict: str) -> None:
    request = held(tenant.alice)
    assert refused(decide(stack, getattr(tenant, person), request, verdict)) == (403, "not_an_approver")
    assert_untouched(request)


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("person", ["carol", "olga"])
def test_nobody_decides_their_own(stack: Stack, tenant: Cast, person: str, verdict: str) -> None:
    own = held(getattr(tenant, person))
    assert refused(decide(stack, getattr(tenant, person), own, verdict)) == (403, "own_request")
    assert_untouched(own)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_superuser_decides_neither_their_own_nor_without_the_role(stack: Stack, tenant: Cast, verdict: str) -> None:
    own, others = held(tenant.olga), held(tenant.alice)
    for person in (tenant.olga, tenant.bob):
        _make(person, is_staff=True, is_superuser=True)
    assert refused(decide(stack, tenant.olga, own, verdict)) == (403, "own_request")
    assert refused(decide(stack, tenant.bob, others, verdict)) == (403, "not_an_approver")
    assert_untouched(own)
    assert_untouched(others)


@pytest.mark.parametrize("verdict", [*VERDICTS, "cancel"])
def test_another_tenants_request_is_not_there(stack: Stack, tenant: Cast, other_tenant: Cast, verdict: str) -> None:
    foreign = held(other_tenant.alice)
    for request in (foreign, uuid.uuid4()):
        for person in (tenant.carol, tenant.alice, tenant.dana):
            assert refused(decide(stack, person, request, verdict)) == (404, "not_found")
    assert_untouched(foreign)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_who_is_demoted_between_authentication_and_decision_decides_nothing(
    stack: Stack, tenant: Cast, verdict: str
) -> None:
    request = held(tenant.alice)
    with ThreadPoolExecutor(1) as thread, psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        owner.execute("SELECT 1 FROM approval_requests WHERE id = %s FOR UPDATE", [request])
        answer = thread.submit(decide, stack, tenant.carol, request, verdict)
        while not waited_for(owner):
            assert not answer.done()
        _role(tenant.carol, "auditor")
        owner.rollback()
        assert refused(answer.result()) == (403, "not_an_approver")
    assert_untouched(request)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_who_was_demoted_or_removed_is_refused_at_the_door(stack: Stack, tenant: Cast, verdict: str) -> None:
    request = held(tenant.alice)
    _role(tenant.carol, "member")
    assert refused(decide(stack, tenant.carol, request, verdict)) == (403, "not_an_approver")
    with on_login("operator"):
        Membership.objects.filter(user_id=tenant.olga.scope.user_id).delete()
    assert refused(decide(stack, tenant.olga, request, verdict)) == (401, "unauthenticated")
    assert_untouched(request)


def test_only_the_one_who_asked_withdraws_and_members_are_not_told_of_others(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    assert refused(decide(stack, tenant.bob, request, "cancel")) == (404, "not_found")
    for reader in (tenant.carol, tenant.dana, tenant.olga):
        assert refused(decide(stack, reader, request, "cancel")) == (403, "not_yours")
    assert_untouched(request)


# --- replayed, raced, late -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("first", ["approve", "deny", "cancel"])
def test_what_is_decided_stays_decided(stack: Stack, tenant: Cast, first: str) -> None:
    request = held(tenant.alice)
    assert decide(stack, tenant.alice if first == "cancel" else tenant.carol, request, first).status_code == 200
    before = request_row(request), decision_rows(request), ledger_kinds(request)
    for person in (tenant.carol, tenant.olga):
        for verdict in VERDICTS:
            assert refused(decide(stack, person, request, verdict, reason="Again.")) == (409, "already_decided")
    assert refused(decide(stack, tenant.alice, request, "cancel")) == (409, "already_decided")
    after = request_row(request), decision_rows(request), ledger_kinds(request)
    # The run may have taken note meanwhile.
    before[0]["used_at"] = after[0]["used_at"]
    assert after == before


@pytest.mark.parametrize("verdict", [*VERDICTS, "cancel"])
def test_whoever_comes_too_late_is_told_and_the_request_ends_expired(stack: Stack, tenant: Cast, verdict: str) -> None:
    request = held(tenant.alice)
    overdue(request)
    person = tenant.alice if verdict == "cancel" else tenant.carol
    for _ in range(2):
        assert refused(decide(stack, person, request, verdict)) == (410, "approval_expired")
    row = request_row(request)
    assert (row["status"], row["call_status"], row["error_code"]) == ("expired", "error", "approval_expired")
    assert decision_rows(request) == []
    assert ledger_kinds(request) == ["settled"]


def test_of_twenty_decisions_at_once_exactly_one_wins(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    barrier = Barrier(20)

    def one(index: int) -> tuple[str, int]:
        verdict = VERDICTS[index % 2]
        barrier.wait()
        return verdict, decide(stack, (tenant.carol, tenant.olga)[index // 2 % 2], request, verdict).status_code

    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(one, range(20)))
    assert sorted(status for _, status in answers) == [200] + [409] * 19
    won = next(verdict for verdict, status in answers if status == 200)
    assert [each["verdict"] for each in decision_rows(request)] == [won]
    assert request_row(request)["status"] == {"approve": "approved", "deny": "denied"}[won]
    assert ledger_kinds(request) == (["decided"] if won == "approve" else ["decided", "settled"])


# --- several approvers -----------------------------------------------------------------------------------------------
def test_two_approvers_at_once_both_count(stack: Stack, tenant: Cast) -> None:
    for _ in range(3):
        request = held(tenant.alice, approvals_needed=2)
        barrier = Barrier(2)

        def one(person: Person, request: uuid.UUID = request, barrier: Barrier = barrier) -> httpx.Response:
            barrier.wait()
            return decide(stack, person, request, "approve")

        with ThreadPoolExecutor(2) as threads:
            answers = list(threads.map(one, (tenant.carol, tenant.olga)))
        assert [answer.status_code for answer in answers] == [200, 200]
        assert request_row(request)["status"] == "approved"
        assert len(decision_rows(request)) == 2


def test_one_approver_counts_once(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2)
    first = decide(stack, tenant.carol, request, "approve").json()
    assert (first["status"], first["approvals"], first["decidable"]) == ("pending", 1, False)
    assert refused(decide(stack, tenant.carol, request, "approve")) == (409, "already_voted")
    assert (request_row(request)["status"], len(decision_rows(request))) == ("pending", 1)
    assert decide(stack, tenant.olga, request, "approve").json()["status"] == "approved"


def test_one_denial_ends_it_whoever_has_approved(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2)
    decide(stack, tenant.carol, request, "approve")
    assert decide(stack, tenant.olga, request, "deny").json()["status"] == "denied"
    assert ledger_kinds(request) == ["decided", "decided", "settled"]


def test_who_has_approved_may_still_deny(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2)
    decide(stack, tenant.carol, request, "approve")
    denied = decide(stack, tenant.carol, request, "deny", reason="On second thought.")
    assert (denied.status_code, denied.json()["status"]) == (200, "denied")
    assert [each["verdict"] for each in decision_rows(request)] == ["approve", "deny"]
    assert ledger_kinds(request) == ["decided", "decided", "settled"]


def test_an_edit_voids_the_approvals_before_it(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2)
    decide(stack, tenant.carol, request, "approve")
    edited = decide(stack, tenant.olga, request, "approve", arguments=EDITED).json()
    assert (edited["status"], edited["approvals"]) == ("pending", 1)
    assert [each["counts"] for each in edited["decisions"]] == [False, True]
    whole = decide(stack, tenant.carol, request, "approve", seen=edited["params_hash"]).json()
    assert (whole["status"], whole["approvals"], whole["approved_input"]) == ("approved", 2, EDITED)
    assert [each["counts"] for each in whole["decisions"]] == [False, True, True]
