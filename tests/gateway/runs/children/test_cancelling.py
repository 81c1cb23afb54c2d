"""The end of a tree from outside, and of what a run has begun when it ends by itself."""

import asyncio
from typing import Any

import pytest

from audit.calls.recorder import Failure
from gateway.runs import repository
from gateway.runs.children import cancelling
from gateway.runs.errors import NoSuchRun
from gateway.runs.lifecycle import following, stopping
from tenants.scope.transactions import transaction
from tests.database import rows, waited_for
from tests.gateway.runs.children.family import MAIL, answered, begun, ended, subagent, tree
from tests.people import Cast
from tests.waiting import eventually


def _parked(runs: list[dict[str, Any]]) -> bool:
    return all(run["status"] in ("waiting", "requires_action") for run in runs)


async def test_cancelling_a_run_ends_every_run_below_it_with_its_requests(tenant: Cast) -> None:
    view = await begun(tenant.alice, subagent(subagent(MAIL)), subagent(MAIL))
    asked = "SELECT id FROM approval_requests WHERE tenant_id = %(t)s"
    await eventually(lambda: len(rows(asked, t=tenant.id)) == 2 and _parked(tree(tenant.alice)))
    before = tree(tenant.alice)
    cancelled = await stopping.cancel(tenant.alice.scope, view.id)
    assert cancelled.run.status == "cancelled"
    after = tree(tenant.alice)
    assert [run["status"] for run in after] == ["cancelled"] * 4
    assert [run["fence"] for run in after] == [run["fence"] + 1 for run in before]
    calls = rows("SELECT tool_name, status, error_code FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert {(call["status"], call["error_code"]) for call in calls} == {("error", "cancelled")}
    assert len(calls) == 5
    requests = rows("SELECT status, used_at FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)
    assert [(each["status"], each["used_at"] is not None) for each in requests] == [("cancelled", True)] * 2
    # Each call has ended once.
    settled = rows("SELECT call_id FROM ledger_entries WHERE tenant_id = %(t)s AND kind = 'settled'", t=tenant.id)
    assert len(settled) == 5


async def test_a_run_that_is_just_being_cancelled_is_not_open_to_whoever_looks_meanwhile(tenant: Cast) -> None:
    view, scope = await begun(tenant.alice, MAIL), tenant.alice.scope
    await answered(tenant.alice, view)

    async def is_open() -> bool:
        async with transaction(scope) as connection:
            return await repository.is_open(connection, view.id)

    assert await is_open()
    async with transaction(scope) as connection:
        await cancelling.tree(connection, scope, view.id, Failure("cancelled", "Cancelled.", display="Cancelled."))
        asked = asyncio.create_task(is_open())
        await eventually(lambda: asked.done() or waited_for(connection))
    assert await asked is False


async def test_cancelling_a_child_tells_the_run_above_which_goes_on(tenant: Cast) -> None:
    view = await begun(tenant.alice, subagent(MAIL))
    await answered(tenant.alice, view)
    _, child = tree(tenant.alice)
    await stopping.cancel(tenant.alice.scope, child["id"])
    answer = await answered(tenant.alice, await following.look(tenant.alice.scope, view.id))
    while answer["status"] != "completed":
        answer = await answered(tenant.alice, await following.look(tenant.alice.scope, view.id))
    [call] = answer["tool_calls"]
    assert (call["status"], call["error"]["code"]) == ("error", "cancelled")
    assert [run["status"] for run in tree(tenant.alice)] == ["completed", "cancelled"]


async def test_a_second_cancel_changes_nothing(tenant: Cast) -> None:
    view = await begun(tenant.alice, subagent(MAIL))
    await answered(tenant.alice, view)
    await stopping.cancel(tenant.alice.scope, view.id)
    before = tree(tenant.alice)
    await stopping.cancel(tenant.alice.scope, view.id)
    await stopping.cancel(tenant.alice.scope, before[1]["id"])
    assert tree(tenant.alice) == before


async def test_nobody_else_ends_a_child(tenant: Cast) -> None:
    await ended(tenant.alice, subagent(MAIL))
    before = tree(tenant.alice)
    for person in (tenant.bob, tenant.olga):
        with pytest.raises(NoSuchRun):
            await stopping.cancel(person.scope, before[1]["id"])
    assert tree(tenant.alice) == before
