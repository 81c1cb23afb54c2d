"""Whose approvals count: those of people who may decide at the last approval, and again when the call goes on."""

import asyncio
import os
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tenants.models import Membership, User
from tenants.scope.routing import on_login
from tests.approvals.api import PATH, assert_untouched, decide, decision_rows, refused, request_row
from tests.approvals.requests import EDITED, held
from tests.database import rows, waited_for
from tests.people import Cast, Person
from tests.stack import Stack

Change = Callable[[Person], None]


def _role(person: Person, role: str) -> None:
    with on_login("operator"):
        Membership.objects.filter(user_id=person.scope.user_id).update(role=role)


def demoted(person: Person) -> None:
    _role(person, "member")


def made_auditor(person: Person) -> None:
    _role(person, "auditor")


def removed(person: Person) -> None:
    with on_login("operator"):
        Membership.objects.filter(user_id=person.scope.user_id).delete()


def deactivated(person: Person) -> None:
    with on_login("operator"):
        User.objects.filter(pk=person.scope.user_id).update(is_active=False)


CHANGES = [demoted, made_auditor, removed, deactivated]


# --- at the last approval --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("change", CHANGES)
def test_an_approval_does_not_count_once_its_author_may_decide_no_more(
    stack: Stack, tenant: Cast, change: Change
) -> None:
    _role(tenant.bob, "approver")
    request = held(tenant.alice, approvals_needed=2)
    assert decide(stack, tenant.carol, request, "approve").json()["approvals"] == 1
    change(tenant.carol)
    second = decide(stack, tenant.olga, request, "approve").json()
    assert (second["status"], second["approvals"]) == ("pending", 1)
    assert [each["counts"] for each in second["decisions"]] == [False, True]
    row = request_row(request)
    assert (row["status"], row["call_status"], row["approved_by"]) == ("pending", "awaiting_approval", None)
    third = decide(stack, tenant.bob, request, "approve").json()
    assert (third["status"], third["approvals"]) == ("approved", 2)
    assert [each["counts"] for each in third["decisions"]] == [False, True, True]
    assert request_row(request)["approved_by"] == sorted([tenant.olga.scope.user_id, tenant.bob.scope.user_id])


def test_a_role_in_another_tenant_counts_for_nothing(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2)
    decide(stack, tenant.carol, request, "approve")
    removed(tenant.carol)
    with on_login("operator"):
        Membership.objects.create(tenant_id=other_tenant.id, user_id=tenant.carol.scope.user_id, role="owner")
    assert decide(stack, tenant.olga, request, "approve").json()["status"] == "pending"


def test_who_may_decide_again_completes_what_they_had_approved(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2)
    decide(stack, tenant.carol, request, "approve")
    demoted(tenant.carol)
    assert decide(stack, tenant.olga, request, "approve").json()["status"] == "pending"
    assert refused(decide(stack, tenant.olga, request, "approve")) == (409, "already_voted")
    _role(tenant.carol, "approver")
    shown = stack.get(tenant.carol, f"{PATH}{request}/").json()
    assert (shown["status"], shown["approvals"], shown["decidable"]) == ("pending", 2, True)
    assert decide(stack, tenant.carol, request, "approve").json()["status"] == "approved"
    assert len(decision_rows(request)) == 2


@pytest.mark.parametrize("change", [made_auditor, removed, deactivated])
def test_the_last_approval_waits_for_a_change_of_an_earlier_author_that_is_under_way(
    stack: Stack, tenant: Cast, change: Change
) -> None:
    request = held(tenant.alice, approvals_needed=2)
    decide(stack, tenant.carol, request, "approve")
    ids = {"tenant": tenant.id, "user": tenant.carol.scope.user_id}
    statement = {
        made_auditor: "UPDATE memberships SET role = 'auditor' WHERE tenant_id = %(tenant)s AND user_id = %(user)s",
        removed: "DELETE FROM memberships WHERE tenant_id = %(tenant)s AND user_id = %(user)s",
        deactivated: "UPDATE users SET is_active = false WHERE id = %(user)s",
    }[change]
    with ThreadPoolExecutor(1) as thread, psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        owner.execute(statement.encode(), ids)
        answer = thread.submit(decide, stack, tenant.olga, request, "approve")
        _blocked_by(owner, answer)
        owner.commit()
        assert answer.result().json()["status"] == "pending"
    row = request_row(request)
    assert (row["status"], row["call_status"]) == ("pending", "awaiting_approval")


def test_a_demotion_that_is_under_way_stops_its_own_decision(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with ThreadPoolExecutor(1) as thread, psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        owner.execute("UPDATE memberships SET role = 'member' WHERE user_id = %s", [tenant.carol.scope.user_id])
        answer = thread.submit(decide, stack, tenant.carol, request, "approve", arguments=EDITED)
        _blocked_by(owner, answer)
        owner.commit()
        assert refused(answer.result()) == (403, "not_an_approver")
    assert_untouched(request)


def _blocked_by(owner: psycopg.Connection[Any], answer: Any) -> None:
    """Return once a statement of the decision waits for this connection."""
    while not waited_for(owner):
        assert not answer.done(), answer.result().text


# --- when the call goes on -------------------------------------------------------------------------------------------
async def _resumed(tenant: Cast, request: uuid.UUID) -> bool:
    """What the loop does about an approved call."""
    from approvals.requests import callers_rights, resumption
    from audit.calls import reading
    from tenants.scope.transactions import transaction
    from tools.gates.interface import Caller

    row = request_row(request)
    async with transaction(tenant.alice.scope) as connection:
        known = await callers_rights.load(connection, tenant.alice.scope.user_id, {"tools": "all", "max_tier": ""})
        call = await reading.of_id(connection, row["call_id"])
        assert call is not None
        return await resumption.resume(connection, call, known, Caller(*tenant.alice.scope, "default"))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("needed", [1, 2])
async def test_an_approved_call_does_not_run_once_an_approver_may_decide_no_more(
    stack: Stack, tenant: Cast, change: Change, needed: int
) -> None:
    request = held(tenant.alice, approvals_needed=needed)
    for person in (tenant.carol, tenant.olga)[:needed]:
        assert decide(stack, person, request, "approve").status_code == 200
    await asyncio.to_thread(change, tenant.carol)
    assert await _resumed(tenant, request) is False
    row = request_row(request)
    assert (row["status"], row["call_status"], row["error_code"]) == ("approved", "error", "approval_denied")
    assert row["used_at"] is not None
    assert f"it has {needed - 1} of the {needed} approval" in row["error_message"]
    [resumed] = rows("SELECT resumed_decision, queued_at FROM tool_calls WHERE id = %(id)s", id=row["call_id"])
    assert resumed["queued_at"] is None
    assert resumed["resumed_decision"][-1]["gate"] == "approval"
    assert resumed["resumed_decision"][-1]["log"] == f"{needed - 1} of {needed} approvals count"


@pytest.mark.parametrize("needed", [1, 2])
async def test_an_approved_call_goes_on_while_its_approvers_may_decide(stack: Stack, tenant: Cast, needed: int) -> None:
    request = held(tenant.alice, approvals_needed=needed)
    for person in (tenant.carol, tenant.olga)[:needed]:
        decide(stack, person, request, "approve")
    # Another role that may decide is as good.
    await asyncio.to_thread(_role, tenant.carol, "owner")
    assert await _resumed(tenant, request) is True
    assert request_row(request)["call_status"] == "queued"


async def test_a_demotion_waits_until_the_call_it_would_have_stopped_is_queued(stack: Stack, tenant: Cast) -> None:
    from approvals.requests import repository, votes
    from tenants.scope.transactions import transaction

    request = held(tenant.alice)
    decide(stack, tenant.carol, request, "approve")
    async with transaction(tenant.alice.scope) as connection:
        [asked] = await repository.find(connection, [request])
        assert await votes.may_decide(connection, asked, await votes.approvers(connection, asked)) == {
            tenant.carol.scope.user_id
        }
        owner = psycopg.connect(os.environ["DATABASE_OWNER_URL"], options="-c lock_timeout=50ms")
        with owner, pytest.raises(psycopg.errors.LockNotAvailable):
            owner.execute("UPDATE memberships SET role = 'member' WHERE user_id = %s", [tenant.carol.scope.user_id])
