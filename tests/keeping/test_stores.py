"""What the tools of notes and tasks do to rows: through their stores, in a call's own transaction and tenant."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from tenants.scope.transactions import TenantScope, transaction
from tests.database import rows
from tests.people import Cast, Person
from tests.tools.context import context
from tools.builtin.notes.save_note import SaveNote
from tools.builtin.notes.search_notes import SearchNotes
from tools.builtin.tasks.complete_task import CompleteTask
from tools.builtin.tasks.update_task import UpdateTask
from tools.errors import ToolValidationError
from tools.interface import Artifact, Tool
from tools.stores import NoteStore, TaskStore


async def _run(who: Person, tool: Tool, **arguments: Any) -> Any:
    principal = who.principal
    async with transaction(TenantScope(principal.tenant_id, principal.user_id)) as connection:
        stores = {
            "notes": NoteStore(connection, principal.tenant_id, principal.user_id),
            "tasks": TaskStore(connection, principal.tenant_id, principal.user_id),
        }
        return await tool.execute(arguments, context(**stores))


async def _task(who: Person, title: str = "Buy milk") -> str:
    principal = who.principal
    async with transaction(TenantScope(principal.tenant_id, principal.user_id)) as connection:
        store = TaskStore(connection, principal.tenant_id, principal.user_id)
        return str(await store.add(title=title, due_date="2026-03-01", priority="low"))


def _stored(task_id: str) -> dict[str, Any]:
    [row] = rows("SELECT title, due_text, priority, status, completed_at FROM tasks WHERE id = %(id)s", id=task_id)
    return dict(row)


async def _found(who: Person, query: str, **more: Any) -> list[str]:
    output = (await _run(who, SearchNotes(), query=query, **more)).output
    return [note["title"] for note in output["notes"]]


async def test_a_task_is_completed_and_stays_completed_as_of_then(tenant: Cast) -> None:
    task_id = await _task(tenant.alice)
    result = await _run(tenant.alice, CompleteTask(), task_id=task_id)
    assert result.output == {"task_id": task_id, "completed": True}
    assert result.display == "Completed the task “Buy milk”"
    assert result.artifacts == (Artifact("task", task_id, "completed"),)
    first = _stored(task_id)
    assert first["status"] == "completed" and first["completed_at"] is not None
    await _run(tenant.alice, CompleteTask(), task_id=task_id)
    assert _stored(task_id) == first


async def test_a_task_changes_in_what_is_given_alone(tenant: Cast) -> None:
    task_id = await _task(tenant.alice)
    result = await _run(tenant.alice, UpdateTask(), task_id=task_id, priority="high")
    expected = {"title": "Buy milk", "due_date": "2026-03-01", "priority": "high", "status": "pending"}
    assert result.output == {"task": {"id": task_id} | expected}
    await _run(tenant.alice, UpdateTask(), task_id=task_id, due_date=None, title="Buy oat milk", status="completed")
    changed = _stored(task_id)
    assert (changed["title"], changed["due_text"], changed["status"]) == ("Buy oat milk", None, "completed")
    await _run(tenant.alice, UpdateTask(), task_id=task_id, status="pending")
    assert _stored(task_id)["completed_at"] is None


async def _nothing(tenant: Cast, other: Cast) -> str:
    return str(uuid.uuid4())


async def _bobs(tenant: Cast, other: Cast) -> str:
    return await _task(tenant.bob)


async def _elsewhere(tenant: Cast, other: Cast) -> str:
    return await _task(other.alice)


@pytest.mark.parametrize("whose", [_nothing, _bobs, _elsewhere])
@pytest.mark.parametrize(
    ("tool", "more"), [(CompleteTask, {}), (UpdateTask, {"title": "Mine"})], ids=["complete_task", "update_task"]
)
async def test_what_is_no_task_of_the_user_is_refused_and_left(
    tenant: Cast, other_tenant: Cast, whose: Callable[..., Any], tool: type[Tool], more: dict[str, Any]
) -> None:
    task_id = await whose(tenant, other_tenant)
    before = rows("SELECT * FROM tasks WHERE id = %(id)s", id=task_id)
    with pytest.raises(ToolValidationError, match="has no task with this id") as caught:
        await _run(tenant.alice, tool(), task_id=task_id, **more)
    assert caught.value.field == "task_id"
    assert rows("SELECT * FROM tasks WHERE id = %(id)s", id=task_id) == before


@pytest.mark.parametrize("more", [{}, {"due_date": "soon"}], ids=["no change", "no moment"])
async def test_a_change_that_is_none_changes_nothing(tenant: Cast, more: dict[str, Any]) -> None:
    task_id = await _task(tenant.alice)
    before = _stored(task_id)
    with pytest.raises(ToolValidationError):
        await _run(tenant.alice, UpdateTask(), task_id=task_id, **more)
    assert _stored(task_id) == before


async def test_notes_are_found_by_other_forms_of_their_words_best_first(tenant: Cast) -> None:
    await _run(tenant.alice, SaveNote(), title="Groceries", content="Milk; we met the plumber, who meets deadlines.")
    await _run(tenant.alice, SaveNote(), title="Meeting on Monday", content="Agenda", tags=["Work"])
    assert await _found(tenant.alice, "meetings") == ["Meeting on Monday", "Groceries"]
    assert await _found(tenant.alice, "work") == ["Meeting on Monday"]
    assert await _found(tenant.alice, "plumbers", limit=1) == ["Groceries"]
    output = (await _run(tenant.alice, SearchNotes(), query="plumber")).output
    assert output["notes"][0]["snippet"] == "Milk; we met the plumber, who meets deadlines."


async def test_where_no_note_has_all_words_those_with_some_are_found(tenant: Cast) -> None:
    await _run(tenant.alice, SaveNote(), title="Passport", content="In the blue drawer")
    assert await _found(tenant.alice, "where is my passport kept") == ["Passport"]
    assert await _found(tenant.alice, '"blue drawer"') == ["Passport"]
    assert await _found(tenant.alice, '"drawer blue"') == []
    assert await _found(tenant.alice, "passport -drawer") == []


@pytest.mark.parametrize("query", ["' | & ! :* \\", '"', "the", "-", "🙂", "a' OR user=*"])
async def test_a_search_for_no_words_finds_nothing_and_does_not_fail(tenant: Cast, query: str) -> None:
    await _run(tenant.alice, SaveNote(), title="Note", content="text")
    assert await _found(tenant.alice, query) == []


async def test_nobody_finds_anothers_notes(tenant: Cast, other_tenant: Cast) -> None:
    await _run(tenant.alice, SaveNote(), title="Secret", content="zebra")
    assert await _found(tenant.alice, "zebra") == ["Secret"]
    for other in (tenant.bob, tenant.olga, other_tenant.alice):
        assert await _found(other, "zebra") == []
        assert await _found(other, f"user={tenant.alice.principal.user_id}") == []


def test_without_a_tenant_or_user_no_note_is_found(tenant: Cast) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM find_notes('zebra', 10)")
        assert cursor.fetchall() == []
