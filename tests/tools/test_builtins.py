import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.tools.context import context
from tools.builtin.notes.save_note import SaveNote
from tools.builtin.tasks.add_task import AddTask
from tools.builtin.tasks.list_tasks import ListTasks
from tools.errors import ToolPermissionDenied, ToolValidationError
from tools.interface import Artifact, Tier
from tools.registry import registry
from tools.schemas.schema import check
from tools.stores import due_moment

ID = uuid.UUID("12345678-1234-4234-8234-123456789abc")


class Store:
    """Stands in for a NoteStore or a TaskStore: keeps what it was asked and answers `ID` or `rows`."""

    def __init__(self, rows=()):
        self.asked = []
        self.rows = list(rows)

    async def save(self, **row):
        self.asked.append(row)
        return ID

    async def add(self, *, title, due_date, priority):
        if due_date is not None:
            due_moment(due_date)
        return await self.save(title=title, due_date=due_date, priority=priority)

    async def list(self, **filters):
        self.asked.append(filters)
        return [row | {"taint": []} for row in self.rows]


async def test_save_note_keeps_the_note_and_returns_its_id():
    notes = Store()
    result = await SaveNote().execute({"title": "A\ttitle", "content": "text\n", "tags": ["a"]}, context(notes=notes))
    assert notes.asked == [{"title": "A\ttitle", "content": "text\n", "tags": ["a"]}]
    assert result.output == {"note_id": str(ID), "saved": True}
    assert result.display == "Saved the note “A title”"
    assert result.artifacts == (Artifact("note", str(ID), "created"),)


async def test_a_note_without_tags_has_none():
    notes = Store()
    await SaveNote().execute({"title": "t", "content": ""}, context(notes=notes))
    assert notes.asked == [{"title": "t", "content": "", "tags": []}]


@pytest.mark.parametrize("due", [None, "2026-03-01", "2026-03-01T10:00:00+01:00", "2026-03-01T10:00"])
async def test_add_task_keeps_the_task_and_returns_its_id(due):
    tasks = Store()
    result = await AddTask().execute({"title": "t", "due_date": due, "priority": "high"}, context(tasks=tasks))
    assert tasks.asked == [{"title": "t", "due_date": due, "priority": "high"}]
    assert result.output == {"task_id": str(ID), "created": True}
    assert result.display == f"Added the task “t” (high priority{f', due {due}' if due else ''})"
    assert result.artifacts == (Artifact("task", str(ID), "created"),)


async def test_a_task_is_of_medium_priority_and_never_due_unless_told():
    tasks = Store()
    await AddTask().execute({"title": "t"}, context(tasks=tasks))
    assert tasks.asked == [{"title": "t", "due_date": None, "priority": "medium"}]


@pytest.mark.parametrize("due", ["soon", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
async def test_a_due_date_that_names_no_moment_adds_nothing(due):
    tasks = Store()
    with pytest.raises(ToolValidationError) as caught:
        await AddTask().execute({"title": "t", "due_date": due}, context(tasks=tasks))
    assert (caught.value.field, tasks.asked) == ("due_date", [])


async def test_list_tasks_returns_the_rows():
    row = {"id": str(ID), "title": "t", "due_date": "2026-03-01", "status": "pending"}
    tasks = Store([row])
    result = await ListTasks().execute({"status": "pending", "limit": 5.0}, context(tasks=tasks))
    assert [(type(value), value) for value in tasks.asked[0].values()] == [(str, "pending"), (int, 5)]
    assert result.output == {"tasks": [row]}
    assert (result.display, result.artifacts) == ("1 pending task", ())


@pytest.mark.parametrize(
    ("arguments", "rows", "display"),
    [({}, 0, "No tasks"), ({"status": "all"}, 2, "2 tasks"), ({"status": "completed"}, 1, "1 completed task")],
)
async def test_list_tasks_says_how_many(arguments, rows, display):
    tasks = Store([{}] * rows)
    result = await ListTasks().execute(arguments, context(tasks=tasks))
    assert result.display == display
    assert tasks.asked == [{"status": arguments.get("status") if display.count("completed") else None, "limit": 10}]


@pytest.mark.parametrize("tool", [SaveNote(), AddTask(), ListTasks()], ids=lambda tool: tool.name)
async def test_a_tool_without_its_handle_is_denied(tool):
    with pytest.raises(ToolPermissionDenied, match="handle"):
        await tool.execute({"title": "t", "content": "c"}, context())


@pytest.mark.parametrize(
    ("name", "tier", "rate", "transactional", "idempotent", "parallel_safe", "handles"),
    [
        ("web_search", Tier.READ_ONLY, "10/m", False, True, True, {"http", "cache"}),
        ("save_note", Tier.WORKSPACE, "30/m", True, False, False, {"notes"}),
        ("list_tasks", Tier.READ_ONLY, "60/m", True, True, True, {"tasks"}),
        ("add_task", Tier.WORKSPACE, "30/m", True, False, False, {"tasks"}),
        ("send_email", Tier.ELEVATED, "30/m", False, False, False, set()),
    ],
)
def test_what_each_bundled_tool_declares(name, tier, rate, transactional, idempotent, parallel_safe, handles):
    tool = registry().get(name)
    assert (tool.tier, tool.rate, tool.handles) == (tier, rate, handles)
    assert (tool.transactional, tool.idempotent, tool.parallel_safe) == (transactional, idempotent, parallel_safe)


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("web_search", {"query": "x"}, None),
        ("web_search", {}, "query"),
        ("web_search", {"query": ""}, "query"),
        ("web_search", {"query": "x" * 501}, "query"),
        ("web_search", {"query": "x", "count": 3}, "count"),
        ("save_note", {"title": "t", "content": "x" * 100_000, "tags": ["a"] * 50}, None),
        ("save_note", {"title": "t"}, "content"),
        ("save_note", {"title": "t", "content": "x" * 100_001}, "content"),
        ("save_note", {"title": "t", "content": "c", "tags": ["a"] * 51}, "tags"),
        ("save_note", {"title": "t", "content": "c", "tags": [1]}, "tags.0"),
        ("list_tasks", {}, None),
        ("list_tasks", {"status": "all", "limit": 100}, None),
        ("list_tasks", {"limit": 0}, "limit"),
        ("list_tasks", {"status": "done"}, "status"),
        ("add_task", {"title": "t", "due_date": None}, None),
        ("add_task", {"title": "t", "due_date": "2026-03-01"}, None),
        ("add_task", {"title": "t", "due_date": "2026-03-01T10:00:00Z"}, None),
        ("add_task", {"title": "t", "due_date": "2026-03-01T10:00:00"}, None),
        ("add_task", {"title": "t", "due_date": "2026-02-30"}, "due_date"),
        ("add_task", {"title": "t", "due_date": "tomorrow"}, "due_date"),
        ("add_task", {"title": "t", "due_date": ""}, "due_date"),
        ("add_task", {"title": "t", "priority": "urgent"}, "priority"),
        ("add_task", {"due_date": None}, "title"),
    ],
)
def test_what_each_schema_takes(name, arguments, field):
    violation = check(registry().get(name).parameters, arguments)
    assert (violation.field if violation else None) == field


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T10:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01t10:00:00z", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T10:00:00+01:00", datetime(2026, 3, 1, 10, tzinfo=timezone(timedelta(hours=1)))),
    ],
)
def test_a_due_date_names_a_moment(text, moment):
    assert due_moment(text) == moment
    assert due_moment(text).tzinfo is UTC
