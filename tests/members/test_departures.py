"""What a member has under way ends when they are removed, whoever removes them."""

import os
import uuid
from typing import Any

import httpx
import psycopg
import pytest
from asgiref.sync import sync_to_async

from gateway.operations import sweeper
from tenants.members import departures
from tenants.models import Membership
from tenants.scope.routing import on_login
from tests.database import rows
from tests.members.test_members_api import ask, of
from tests.people import Cast, Person
from tests.stack import Stack

ELEVATED = 'call: send_email {"to": "a@example.com", "subject": "a", "body": "b"}'
MAIL = {"arguments": {"to": "a@example.com", "subject": "a", "body": "b"}}


def left(tenant: Cast) -> int:
    """How many have left, of whom something is to be ended still."""
    return len(rows("SELECT 1 FROM departures WHERE tenant_id = %(t)s AND ended_at IS NULL", t=tenant.id))


def calls(tenant: Cast) -> list[tuple[str, str | None]]:
    found = rows("SELECT status, error_code FROM tool_calls WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    return [(row["status"], row["error_code"]) for row in found]


@pytest.mark.parametrize("by", ["owner", "operator"])
async def test_open_runs_and_waiting_calls_of_who_is_removed_are_cancelled(stack: Stack, tenant: Cast, by: str) -> None:
    run = stack.chat(tenant.alice, ELEVATED).json()
    assert run["status"] == "requires_action"
    path = f"{stack.url}/api/v1/tools/send_email/calls"
    assert httpx.post(path, json=MAIL, headers=tenant.alice.headers).status_code == 202
    others = stack.chat(tenant.bob, ELEVATED).json()
    await _removed(tenant, by)
    await sweeper.sweep()
    assert left(tenant) == 0
    assert calls(tenant) == [("error", "cancelled"), ("error", "cancelled"), ("awaiting_approval", None)]
    states = {
        str(row["id"]): row["status"]
        for row in rows("SELECT id, status FROM runs WHERE tenant_id = %(t)s", t=tenant.id)
    }
    assert states == {run["run_id"]: "cancelled", others["run_id"]: "requires_action"}
    pending = rows("SELECT status FROM approval_requests WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert sorted(row["status"] for row in pending) == ["cancelled", "cancelled", "pending"]


async def _removed(tenant: Cast, by: str) -> None:
    def remove() -> Any:
        if by == "owner":
            assert ask(tenant.olga, "DELETE", of(tenant.alice)).status_code == 204
            return
        with on_login("operator"):
            Membership.objects.filter(tenant_id=tenant.id, user_id=tenant.alice.principal.user_id).delete()

    await sync_to_async(remove)()


async def test_who_left_is_remembered_until_they_are_a_member_again(tenant: Cast) -> None:
    def membership(person: Person) -> Any:
        return Membership.objects.filter(tenant_id=tenant.id, user_id=person.principal.user_id)

    def leave() -> None:
        with on_login("operator"):
            membership(tenant.alice).delete()

    def join() -> None:
        with on_login("operator"):
            Membership.objects.create(tenant_id=tenant.id, user_id=tenant.alice.principal.user_id, role="member")

    def remembered() -> list[bool]:
        """Of each who left: whether nothing of theirs is to be ended any more."""
        found = rows("SELECT ended_at FROM departures WHERE tenant_id = %(t)s", t=tenant.id)
        return [each["ended_at"] is not None for each in found]

    await sync_to_async(leave)()
    await sync_to_async(join)()
    # What they had under way before is still to be ended.
    assert remembered() == [False]
    await sweeper.sweep()
    assert remembered() == []
    await sync_to_async(leave)()
    await sweeper.sweep()
    assert remembered() == [True]
    [departure] = rows("SELECT * FROM departures WHERE tenant_id = %(t)s", t=tenant.id)
    await sync_to_async(join)()
    assert remembered() == []
    await sync_to_async(leave)()
    # A sweep that read the row before they came back and left again ends nothing.
    await departures.done(departure)
    assert remembered() == [False]


async def test_who_left_a_tenant_that_is_gone_is_forgotten(tenant: Cast) -> None:
    nowhere = uuid.uuid4()
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as connection:
        connection.execute(
            "INSERT INTO departures (id, tenant_id, user_id, left_at) VALUES (%s, %s, %s, now())",
            [uuid.uuid4(), nowhere, nowhere],
        )
    await sweeper.sweep()
    assert rows("SELECT 1 FROM departures WHERE tenant_id = %(t)s", t=nowhere) == []
