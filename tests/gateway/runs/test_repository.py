"""A run's transitions, each a compare-and-set under its driver's fence."""

import asyncio
import os
import uuid
from dataclasses import fields
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from approvals.requests import callers_rights
from approvals.requests.callers_rights import NO_AGENT
from gateway.budgets.reservations import used
from gateway.providers.interface import Answer, Usage
from gateway.runs import preparation, repository
from gateway.runs.agents import members
from gateway.runs.preparation import ChatRequest
from gateway.runs.rows import NewRun, Run, RunEnd, TurnValues
from tenants.scope.transactions import transaction
from tests.database import rows
from tests.people import Cast, Person

Row = dict[str, Any]
OPEN, FINAL = ["in_progress", "waiting", "requires_action"], ["completed", "incomplete", "failed", "cancelled"]
END = RunEnd("completed", "Hello.")


async def _run(person: Person, status: str = "in_progress", **columns: Any) -> Row:
    """A run in a status, held under fence 1 with a lease of an hour."""
    run_id = uuid.uuid4()
    new = NewRun(
        id=run_id, **person.scope._asdict(), conversation_id=uuid.uuid4(), message_id=uuid.uuid4(),
        user_message_id=uuid.uuid4(), agent_id=None, profile={}, model="offline/demo", lease=3600,
        idempotency_key=None, request_hash=None, content="hello", title="hello", surface="",
    )  # fmt: skip
    version = await _version(person)
    async with transaction(person.scope) as connection:
        await repository.begin(connection, new, version=version, new_conversation=True)
        for name, value in (columns | {"status": status}).items():
            await connection.execute(f"UPDATE runs SET {name} = %s WHERE id = %s".encode(), [value, run_id])
    return row_of(run_id)


async def _version(person: Person) -> uuid.UUID:
    return (await members.under(person.scope, None)).version


def row_of(run_id: uuid.UUID) -> Row:
    return rows("SELECT * FROM runs WHERE id = %(id)s", id=run_id)[0]


def _run_of(row: Row) -> Run:
    return Run(**{each.name: row[each.name] for each in fields(Run)})


async def _move(person: Person, name: str, row: Row) -> Run | None:
    run = _run_of(row)
    turn = TurnValues.of(Answer("Hello."), 100, 5, used("offline/demo", None, Usage()))
    async with transaction(person.scope) as connection:
        if name == "commit_turn":
            known = await callers_rights.load(connection, person.scope.user_id, NO_AGENT)
            return await repository.commit_turn(connection, run, turn, known, Jsonb([]), Jsonb([]))
        if name == "take_over":
            taken = await repository.take_over(connection, run.id, 15)
            return taken and taken.run
        if name == "commit_last_turn":
            published = await repository.commit_last_turn(connection, run, turn, END)
        elif name == "finish":
            published = await repository.finish(connection, run, END)
        else:
            cancelled = await repository.cancel(connection, person.scope, run.id)
            published = cancelled[0] if cancelled else None
        return published and published.run


MOVES = ["commit_turn", "commit_last_turn", "finish", "take_over", "cancel"]
ARROWS = {
    ("in_progress", "commit_turn"): "in_progress",
    ("in_progress", "commit_last_turn"): "completed",
    ("in_progress", "finish"): "completed",
    ("in_progress", "cancel"): "cancelled",
    ("waiting", "cancel"): "cancelled",
    ("requires_action", "cancel"): "cancelled",
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("status", OPEN + FINAL)
async def test_an_arrow_is_taken_and_everything_else_changes_nothing(tenant: Cast, status: str, move: str) -> None:
    run = await _run(tenant.alice, status)
    messages = "SELECT id FROM messages WHERE run_id = %(r)s"
    moved = await _move(tenant.alice, move, run)
    target = ARROWS.get((status, move))
    if target is None:
        assert moved is None
        assert row_of(run["id"]) == run
        assert rows("SELECT id FROM turns WHERE run_id = %(r)s", r=run["id"]) == []
        assert len(rows(messages, r=run["id"])) == 1
    else:
        assert moved is not None
        after = row_of(run["id"])
        assert _run_of(after) == moved
        assert after["status"] == target
        assert after["turns"] == len(rows("SELECT id FROM turns WHERE run_id = %(r)s", r=run["id"]))
        assert len(rows(messages, r=run["id"])) == (2 if target == "completed" else 1)


@pytest.mark.parametrize("move", ["commit_turn", "commit_last_turn", "finish"])
async def test_an_old_fence_changes_nothing(tenant: Cast, move: str) -> None:
    late = await _run(tenant.alice, lease_until="2001-01-01T00:00:00Z")
    async with transaction(tenant.alice.scope) as connection:
        taken = await repository.take_over(connection, late["id"], 15)
    assert taken is not None
    assert taken.run.fence == late["fence"] + 1
    before = row_of(late["id"])
    assert await _move(tenant.alice, move, late) is None
    assert row_of(late["id"]) == before
    assert rows("SELECT id FROM turns WHERE run_id = %(r)s", r=late["id"]) == []


async def test_a_run_that_is_held_is_not_taken_over_and_one_that_is_let_go_is_at_once(tenant: Cast) -> None:
    run = await _run(tenant.alice)
    assert await _move(tenant.alice, "take_over", run) is None
    async with transaction(tenant.alice.scope) as connection:
        await repository.release(connection, _run_of(run))
    assert await _move(tenant.alice, "take_over", run) is not None


async def test_ten_that_take_over_at_once_are_one(tenant: Cast) -> None:
    run = await _run(tenant.alice, lease_until="2001-01-01T00:00:00Z")
    taken = await asyncio.gather(*(_move(tenant.alice, "take_over", run) for _ in range(10)))
    assert len([each for each in taken if each is not None]) == 1
    assert row_of(run["id"])["fence"] == 2


@pytest.mark.parametrize("status", [*OPEN, *FINAL])
async def test_a_renewal_names_the_runs_that_nobody_else_has_and_prolongs_those_under_way(
    tenant: Cast, status: str
) -> None:
    run = await _run(tenant.alice, status, lease_until="2001-01-01T00:00:00Z")
    gone = uuid.uuid4()

    def renewed(fence: int) -> list[uuid.UUID]:
        found = "SELECT renew_run_leases(%(ids)s, %(fences)s, 60) AS id"
        return [row["id"] for row in rows(found, ids=[run["id"], gone], fences=[fence, 1])]

    assert (renewed(0), renewed(2)) == ([], [])
    assert row_of(run["id"]) == run
    assert renewed(1) == [run["id"]]
    assert (row_of(run["id"])["lease_until"] > run["lease_until"]) is (status == "in_progress")


async def test_nobody_else_cancels_a_run(tenant: Cast, other_tenant: Cast) -> None:
    run = await _run(tenant.alice)
    for person in (tenant.bob, tenant.olga, other_tenant.alice):
        assert await _move(person, "cancel", run) is None
    assert row_of(run["id"]) == run


async def test_a_conversation_has_one_open_run_at_the_most(tenant: Cast) -> None:
    run = await _run(tenant.alice)
    with pytest.raises(psycopg.errors.UniqueViolation) as taken:
        await _run_in(tenant.alice, run["conversation_id"])
    assert taken.value.diag.constraint_name == "runs_one_open"
    assert len(rows("SELECT id FROM messages WHERE tenant_id = %(t)s", t=tenant.id)) == 1


async def _run_in(person: Person, conversation: uuid.UUID) -> None:
    await preparation.open(person.scope, ChatRequest("again", conversation))


async def test_a_turn_is_written_once(tenant: Cast) -> None:
    run = await _run(tenant.alice)
    answers = await asyncio.gather(
        *(_move(tenant.alice, "commit_last_turn", run) for _ in range(5)), return_exceptions=True
    )
    assert len([each for each in answers if isinstance(each, Run)]) == 1
    assert len(rows("SELECT id FROM turns WHERE run_id = %(r)s", r=run["id"])) == 1


@pytest.mark.parametrize(
    "condition", ["tenant_id = $1 AND id = $2", "fence = $1 AND id = $2 AND status = 'in_progress'"]
)
def test_a_run_is_found_by_its_id_however_young_its_table_is(condition: str) -> None:
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as connection:
        connection.execute("CREATE TEMPORARY TABLE young (LIKE runs INCLUDING INDEXES) ON COMMIT DROP")
        found = connection.execute(f"EXPLAIN (GENERIC_PLAN) SELECT FROM young WHERE {condition}".encode()).fetchall()
    plan = [line.strip() for (line,) in found]
    assert [line for line in plan if line.startswith("Index Cond:") and "id = $2" in line], plan


def test_the_pages_of_runs_have_room_for_the_version_that_a_turn_makes() -> None:
    [found] = rows("SELECT reloptions AS they FROM pg_class WHERE oid = 'runs'::regclass")
    # Without it each turn that is committed changes every index of the run.
    assert found["they"] == ["fillfactor=75"]
