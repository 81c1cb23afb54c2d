"""What is lost between a call and the child that it begins, and between a child and the call that waits for it."""

import asyncio
import os
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.conf import settings

from audit.calls import reading
from gateway.operations import sweeper
from gateway.runs.children import cancelling, ending, waking
from gateway.runs.lifecycle import driving, stopping
from gateway.runs.lifecycle.beginning import ChildrenOfRuns
from gateway.runs.live_ports import LiveUnitOfWork
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope, transaction
from tests.database import rows
from tests.gateway.runs.children.family import MAIL, answered, begun, lost, subagent, tree
from tests.people import Cast
from tests.waiting import PATIENCE_SECONDS, eventually
from tools.invocation.in_worker import execution
from tools.invocation.live import wakeups


def _calls(cast: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM tool_calls WHERE tenant_id = %(t)s ORDER BY id", t=cast.id)


async def _lost(*args: Any, **kwargs: Any) -> None:
    """Nobody hears it."""


async def _over(cast: Cast) -> None:
    """Every run has completed, each call has ended once, and nobody is left."""
    await eventually(lambda: {run["status"] for run in tree(cast.alice)} == {"completed"})
    calls = _calls(cast)
    assert {call["status"] for call in calls} == {"success"}
    settled = rows("SELECT call_id FROM ledger_entries WHERE tenant_id = %(t)s AND kind = 'settled'", t=cast.id)
    assert len(settled) == len({each["call_id"] for each in settled}) == len(calls)


async def test_a_call_whose_process_is_lost_before_its_child_begins_is_begun_by_the_sweeper_once(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lost(monkeypatch, ChildrenOfRuns, "begin"):
        await begun(tenant.alice, subagent("Hello."))
        await eventually(lambda: [call["status"] for call in _calls(tenant)] == ["queued"])
    async with transaction(tenant.alice.scope) as connection:
        await connection.execute("UPDATE tool_calls SET queued_at = now() - interval '1 minute'")
    await asyncio.gather(sweeper.sweep(), sweeper.sweep())
    await _over(tenant)
    assert len(tree(tenant.alice)) == 2


async def test_ten_that_execute_a_call_at_once_begin_one_child(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    async with lost(monkeypatch, ChildrenOfRuns, "begin"):
        await begun(tenant.alice, subagent("Hello."))
        await eventually(lambda: len(_calls(tenant)) == 1)
    [call] = _calls(tenant)
    ten = (execution.execute(*tenant.alice.scope, call["id"], claims=bool(n % 2)) for n in range(10))
    children = [child for child in await asyncio.gather(*ten) if child is not None]
    assert len(children) == 1
    assert [run["id"] for run in tree(tenant.alice)][1:] == children
    await driving.take_over(tenant.alice.scope, children[0])
    await _over(tenant)


async def test_a_child_that_nobody_drives_is_found_by_the_sweeper(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    async def taken_over(*ids: Any) -> None:
        asked.append(ids[-1])

    async with lost(monkeypatch, driving, "take_over"):
        view = await begun(tenant.alice, subagent("Hello."))
        await eventually(lambda: [run["status"] for run in tree(tenant.alice)] == ["waiting", "in_progress"])
    [call] = _calls(tenant)
    # Nobody has the call, and nobody takes it for lost.
    assert (call["status"], call["lease_until"], call["waits_on_run"]) == ("running", None, tree(tenant.alice)[1]["id"])
    monkeypatch.setattr(sweeper, "request_takeover", taken_over)
    await sweeper.sweep()
    assert call["waits_on_run"] in asked and view.id not in asked
    assert _calls(tenant) == [call]
    await driving.take_over(tenant.alice.scope, call["waits_on_run"])
    await _over(tenant)


async def test_a_parent_that_does_not_hear_of_the_end_of_its_child_is_found_by_the_sweeper(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    async def taken_over(*ids: Any) -> None:
        asked.append(ids[-1])

    monkeypatch.setattr(waking, "call_ended", _lost)
    monkeypatch.setattr(sweeper, "request_takeover", taken_over)
    async with lost(monkeypatch, driving, "take_over"):
        view = await begun(tenant.alice, subagent("Hello."))
        await eventually(lambda: [run["status"] for run in tree(tenant.alice)] == ["waiting", "in_progress"])
    await driving.take_over(tenant.alice.scope, tree(tenant.alice)[1]["id"])
    assert [run["status"] for run in tree(tenant.alice)] == ["waiting", "completed"]
    assert [call["status"] for call in _calls(tenant)] == ["success"]
    await sweeper.sweep()
    assert view.id in asked
    await asyncio.gather(*(driving.take_over(tenant.alice.scope, view.id) for _ in range(2)))
    await _over(tenant)
    assert tree(tenant.alice)[0]["fence"] == 2
    # It took note of the end.
    assert [run["unnoted"] for run in tree(tenant.alice)] == [False, False]


async def test_a_child_whose_parent_ended_before_it_took_note_is_looked_at_once_more(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waking, "call_ended", _lost)
    view = await begun(tenant.alice, subagent("Hello."), MAIL)
    await answered(tenant.alice, view)
    await eventually(lambda: tree(tenant.alice)[1]["status"] == "completed")
    assert [run["unnoted"] for run in tree(tenant.alice)] == [False, True]
    await stopping.cancel(tenant.alice.scope, view.id)
    await sweeper.sweep()
    assert [run["unnoted"] for run in tree(tenant.alice)] == [False, False]


async def test_a_parent_that_is_lost_before_it_is_parked_goes_on_with_the_answer_of_its_child(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No renewal is under way when the lease is set back.
    monkeypatch.setattr(settings, "RUN_LEASE_SECONDS", 3600)
    view = await begun(tenant.alice, subagent("Hello."))
    # Before that nobody has begun the child, and only the sweeper would.
    await eventually(lambda: len(tree(tenant.alice)) == 2)
    if view.id in driving.driven_here:
        driving.driven_here[view.id].task.cancel()
    await eventually(lambda: [run["status"] for run in tree(tenant.alice)][1:] == ["completed"])
    async with transaction(tenant.alice.scope) as connection:
        await connection.execute(
            "UPDATE runs SET lease_until = now() - interval '1 minute' WHERE status = 'in_progress'"
        )
    await driving.take_over(tenant.alice.scope, view.id)
    await _over(tenant)


async def test_a_cancel_against_the_end_of_a_child_leaves_no_run_open_and_ends_each_call_once(tenant: Cast) -> None:
    for _ in range(5):
        view = await begun(tenant.alice, subagent("Hello."), subagent(subagent("Hello.")))
        await eventually(lambda view=view: len(_of(tenant, view.id)) >= 3)
        await stopping.cancel(tenant.alice.scope, view.id)
    await eventually(lambda: {run["status"] for run in tree(tenant.alice)} <= {"completed", "cancelled"})
    calls = _calls(tenant)
    assert {call["status"] for call in calls} <= {"success", "error"}
    settled = rows("SELECT call_id FROM ledger_entries WHERE tenant_id = %(t)s AND kind = 'settled'", t=tenant.id)
    assert sorted(each["call_id"] for each in settled) == sorted(call["id"] for call in calls)


def _of(cast: Cast, root: Any) -> list[dict[str, Any]]:
    return [run for run in tree(cast.alice) if root in (run["id"], run["root_run_id"])]


async def test_parents_that_wait_are_nobodys_work(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[uuid.UUID] = []

    async def request_takeover(tenant_id: uuid.UUID, user_id: uuid.UUID, run_id: uuid.UUID) -> None:
        asked_for.append(run_id)

    view = await begun(tenant.alice, subagent(MAIL))
    await answered(tenant.alice, view)
    await eventually(lambda: not {run["id"] for run in tree(tenant.alice)} & {*driving.driven_here})
    before = tree(tenant.alice)
    monkeypatch.setattr(sweeper, "request_takeover", request_takeover)
    await sweeper.sweep()
    assert {run["id"] for run in before}.isdisjoint(asked_for)
    await driving.take_over(TenantScope(*tenant.alice.scope), view.id)
    assert tree(tenant.alice) == before
    assert [call["status"] for call in _calls(tenant)] == ["running", "awaiting_approval"]
    # What a sweep looks at: parents alone.
    assert [run["open_calls"] for run in before] == [1, None]


_AS_IT_IS = "SELECT * FROM tool_calls WHERE id = %(id)s"


async def test_a_call_that_was_claimed_and_began_a_child_is_nobodys_to_lose(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lost(monkeypatch, ChildrenOfRuns, "begin"):
        await begun(tenant.alice, subagent(MAIL))
        await eventually(lambda: [call["status"] for call in _calls(tenant)] == ["queued"])
    [call] = _calls(tenant)
    child = await execution.execute(*tenant.alice.scope, call["id"], claims=True)
    [call] = _calls(tenant)
    assert (call["status"], call["waits_on_run"], call["lease_until"]) == ("running", child, None)
    # A round of renewals that had begun before the call waited for the child.
    renewed = "SELECT renew_call_leases(ARRAY[%(id)s], ARRAY[%(fence)s], 3)"
    rows(renewed, id=call["id"], fence=call["fence"])
    assert rows(_AS_IT_IS, id=call["id"]) == [call]

    lapsed = "UPDATE tool_calls SET lease_until = now() - interval '1 minute' WHERE id = %(id)s RETURNING *"
    [call] = rows(lapsed, id=call["id"])
    await sweeper.sweep()
    assert rows(_AS_IT_IS, id=call["id"]) == [call]
    # A sweep that had found it before it waited.
    async with transaction(tenant.alice.scope) as connection:
        assert await reading.lock_lost(connection, call) is None


# A parent and its child with the call between them, 300 times more.
_MORE = """
    CREATE TEMPORARY TABLE more ON COMMIT DROP AS SELECT gen_random_uuid() AS parent, gen_random_uuid() AS child,
        overlay(gen_random_uuid()::text placing left(%(call)s, 15) from 1 for 15)::uuid AS call
        FROM generate_series(1, 300);
    INSERT INTO runs SELECT new.* FROM more, runs r, jsonb_populate_record(r, jsonb_build_object('id', parent,
        'surface', 'copied')) new WHERE r.id = %(parent)s;
    INSERT INTO runs SELECT new.* FROM more, runs r, jsonb_populate_record(r, jsonb_build_object('id', child,
        'surface', 'copied', 'parent_run_id', parent, 'root_run_id', parent, 'parent_call_id', call)) new
        WHERE r.id = %(child)s;
    INSERT INTO tool_calls SELECT new.* FROM more, tool_calls c, jsonb_populate_record(c, jsonb_build_object('id', call,
        'run_id', parent, 'waits_on_run', child)) new WHERE c.id = %(call)s;
    ANALYZE runs;
    ANALYZE tool_calls"""


@pytest.mark.parametrize("search", [sweeper.ENDED_CALLS, reading.LOST])
async def test_a_sweep_looks_at_none_of_the_parents_that_are_parked(tenant: Cast, search: str) -> None:
    view = await begun(tenant.alice, subagent(MAIL))
    await answered(tenant.alice, view)
    parent, child = tree(tenant.alice)
    assert (parent["status"], parent["open_calls"], child["status"]) == ("waiting", 1, "requires_action")
    ids = {"parent": parent["id"], "child": child["id"], "call": str(child["parent_call_id"])}
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        for statement in _MORE.split(";"):
            used = {name: value for name, value in ids.items() if f"%({name})s" in statement}
            owner.execute(statement.encode(), used or None)
        # In a young table a look at every row costs little.
        owner.execute("SET LOCAL enable_seqscan = off")
        row = owner.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {search}".encode(), [sweeper.BATCH]).fetchone()
        owner.rollback()
    assert row is not None
    # What is left of other tests, and none of these.
    assert sum(_visited(row[0][0]["Plan"])) < 300


def _visited(node: dict[str, Any]) -> Iterator[float]:
    """How many rows each scan of a plan has read."""
    if "Relation Name" in node:
        yield (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    for below in node.get("Plans", ()):
        yield from _visited(below)


async def test_a_child_that_ends_while_its_parent_is_being_parked_wakes_it_without_hint_or_sweeper(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    parking = asyncio.Event()
    woken: list[asyncio.Task[None]] = []
    park, settle, publish = LiveUnitOfWork.suspend, ending.settle, wakeups.publish

    async def parked_late(*args: Any) -> Any:
        parking.set()
        # Who ended the call has found the run held.
        await eventually(lambda: bool(woken) and woken[0].done())
        return await park(*args)

    async def settled_meanwhile(*args: Any) -> bool:
        await parking.wait()
        return await settle(*args)

    def wake(scope: TenantScope, run_id: uuid.UUID) -> None:
        woken.append(asyncio.create_task(driving.take_over(scope, run_id)))

    async def late_hints_are_lost(*args: Any) -> None:
        if not parking.is_set():
            await publish(*args)

    monkeypatch.setattr(LiveUnitOfWork, "suspend", parked_late)
    monkeypatch.setattr(ending, "settle", settled_meanwhile)
    monkeypatch.setattr(waking, "_drive", wake)
    monkeypatch.setattr(wakeups, "publish", late_hints_are_lost)
    await begun(tenant.alice, subagent("Hello."))
    await _over(tenant)
    assert parking.is_set()


async def test_a_child_that_has_ended_wakes_its_parent_although_leases_are_renewed_meanwhile(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewals, renew, wake = [0], transactions.fetch, waking.call_ended

    async def counted(query: Any, *args: Any) -> Any:
        found = await renew(query, *args)
        renewals[0] += "renew_run_leases" in query
        return found

    async def woken_late(*args: Any) -> None:
        # The first of them may have begun before the child's end was committed, and the third after the second's rows
        # were looked at.
        seen = renewals[0]
        await eventually(lambda: renewals[0] >= seen + 3)
        await wake(*args)

    monkeypatch.setattr(settings, "RUN_LEASE_SECONDS", 1)
    monkeypatch.setattr(transactions, "fetch", counted)
    monkeypatch.setattr(waking, "call_ended", woken_late)
    await begun(tenant.alice, subagent("Hello."))
    await _over(tenant)
    assert renewals[0] >= 3


async def test_a_child_that_has_ended_wakes_its_parent_although_somebody_cancels_it_meanwhile(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, looked = asyncio.Event(), asyncio.Event()
    wake, cancel = waking.call_ended, cancelling.tree

    async def woken_late(*args: Any) -> None:
        told.set()
        await looked.wait()
        await wake(*args)

    async def found_over(*args: Any) -> Any:
        found = await cancel(*args)
        assert found.run_ids == []
        # Once the caller has gone on with it.
        asyncio.get_running_loop().call_later(0.05, looked.set)
        return found

    monkeypatch.setattr(stopping, "_TOLD_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(waking, "call_ended", woken_late)
    monkeypatch.setattr(cancelling, "tree", found_over)
    await begun(tenant.alice, subagent("Hello."))
    await told.wait()
    child = tree(tenant.alice)[1]
    assert (await stopping.cancel(tenant.alice.scope, child["id"])).run.status == "completed"
    await _over(tenant)
