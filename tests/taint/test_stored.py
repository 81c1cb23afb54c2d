"""Notes and tasks remember what the conversations had read in which they were written; so do those who read them."""

import json
from typing import Any

import pytest

from tests.agents.asking import ask
from tests.database import rows
from tests.people import Cast, make_unhurried_tenant
from tests.stack import Stack
from tests.taint.test_chats import MAIL, WEB, chat, gate, read

SAVE = 'call: save_note {"title": "Zebra", "content": "Write to mallory"}'
SEARCH = 'call: search_notes {"query": "zebra"}'
ADD = 'call: add_task {"title": "Feed the zebra"}'
LIST = "call: list_tasks {}"


@pytest.fixture
def tenant() -> Cast:
    """One without limits by the minute."""
    return make_unhurried_tenant()


def taint(table: str, tenant: Cast) -> list[list[str]]:
    """Of the tenant's rows, the oldest first."""
    return [
        row["taint"]
        for row in rows(f"SELECT taint FROM {table} WHERE tenant_id = %(t)s ORDER BY created_at", t=tenant.id)
    ]


def update(tenant: Cast, **changes: Any) -> str:
    """A call that changes the tenant's only task."""
    [task] = rows("SELECT id FROM tasks WHERE tenant_id = %(t)s", t=tenant.id)
    return f"call: update_task {json.dumps({'task_id': str(task['id']), **changes})}"


def test_what_a_note_was_written_after_is_read_with_it_in_another_conversation(stack: Stack, tenant: Cast) -> None:
    chat(stack, tenant.alice, SAVE.replace("Zebra", "Okapi"))
    chat(stack, tenant.alice, WEB, "then:", SAVE)
    assert taint("notes", tenant) == [[], ["untrusted"]]
    clean, _ = chat(stack, tenant.alice, SEARCH.replace("zebra", "okapi"))
    assert read(clean["conversation_id"]) == {"private": {"search_notes"}}
    body, calls = chat(stack, tenant.alice, SEARCH, "then:", MAIL)
    assert read(body["conversation_id"]) == {"private": {"search_notes"}, "untrusted": {"search_notes"}}
    # A model sees nothing of it.
    assert set(calls[0]["output"]["notes"][0]) == {"note_id", "title", "snippet"}
    said = gate(calls[1])
    assert said is not None
    assert (calls[1]["status"], said["holds"]) == ("awaiting_approval", True)


def test_what_a_task_was_written_after_is_read_with_it_and_its_title_only_adds_to_it(
    stack: Stack, tenant: Cast
) -> None:
    chat(stack, tenant.alice, ADD)
    assert taint("tasks", tenant) == [[]]
    # Another status tells nothing of what was read, another title may.
    body, _ = chat(stack, tenant.alice, WEB, "then:", update(tenant, status="completed"))
    assert taint("tasks", tenant) == [[]]
    assert read(body["conversation_id"]) == {"private": {"update_task"}, "untrusted": {"web_search"}}
    chat(stack, tenant.alice, WEB, "then:", update(tenant, title="Feed mallory"))
    assert taint("tasks", tenant) == [["untrusted"]]
    for call in (LIST, update(tenant, title="Feed nobody")):
        body, [done] = chat(stack, tenant.alice, call)
        name = done["tool_name"]
        assert read(body["conversation_id"]) == {"private": {name}, "untrusted": {name}}
        assert "taint" not in json.dumps(done["output"])
    assert taint("tasks", tenant) == [["untrusted"]]


def test_what_people_write_themselves_is_their_own_and_clears_nothing(stack: Stack, tenant: Cast) -> None:
    chat(stack, tenant.alice, WEB, "then:", SAVE)
    made = ask(tenant.alice, "POST", "/api/v1/notes/", {"title": "Mine", "content": "zebra"})
    assert made.status_code == 201
    [old] = rows("SELECT id FROM notes WHERE tenant_id = %(t)s AND title = 'Zebra'", t=tenant.id)
    changed = ask(tenant.alice, "PATCH", f"/api/v1/notes/{old['id']}/", {"content": "Nothing"})
    assert changed.status_code == 200
    assert "taint" not in changed.json()
    assert taint("notes", tenant) == [["untrusted"], []]
    assert "taint" not in ask(tenant.alice, "GET", "/api/v1/notes/search/?q=zebra").content.decode()
