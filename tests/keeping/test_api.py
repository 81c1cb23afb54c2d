"""Notes and tasks over REST and on their pages: one's own, and nobody else's."""

import json
from typing import Any

import pytest
from django.test import Client

from tests.browser.sessions import session_of
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast, Person


def _ask(who: Person, method: str, path: str, body: Any = None) -> Any:
    client = Client(headers={"Authorization": f"Bearer {who.key}"})
    text = "" if body is None else json.dumps(body)
    return client.generic(method, f"/api/v1/{path}", text, content_type="application/json")


def _note(who: Person, **fields: Any) -> dict[str, Any]:
    made = _ask(who, "POST", "notes/", {"title": "Passport", "content": "In the drawer"} | fields)
    assert made.status_code == 201, made.content
    return dict(made.json())


def _task(who: Person, **fields: Any) -> dict[str, Any]:
    made = _ask(who, "POST", "tasks/", {"title": "Buy milk"} | fields)
    assert made.status_code == 201, made.content
    return dict(made.json())


def test_a_note_is_made_read_changed_found_and_deleted(tenant: Cast) -> None:
    note = _note(tenant.alice, tags=["home"])
    path = f"notes/{note['id']}/"
    assert _ask(tenant.alice, "GET", path).json() == note
    changed = _ask(tenant.alice, "PATCH", path, {"content": "In the safe", "seen": note["updated_at"]})
    assert (changed.status_code, changed.json()["content"], changed.json()["tags"]) == (200, "In the safe", ["home"])
    late = _ask(tenant.alice, "PATCH", path, {"content": "Elsewhere", "seen": note["updated_at"]})
    assert (late.status_code, late.json()["code"]) == (409, "changed_meanwhile")
    assert _ask(tenant.alice, "GET", path).json()["content"] == "In the safe"
    [found] = _ask(tenant.alice, "GET", "notes/search/?q=safes").json()["results"]
    assert (found["id"], found["title"], found["snippet"]) == (note["id"], "Passport", "In the safe")
    assert [each["id"] for each in _ask(tenant.alice, "GET", "notes/?tag=home").json()["results"]] == [note["id"]]
    assert _ask(tenant.alice, "GET", "notes/?tag=away").json()["results"] == []
    assert _ask(tenant.alice, "DELETE", path).status_code == 204
    assert _ask(tenant.alice, "GET", path).status_code == 404


def test_a_task_is_made_changed_completed_and_deleted(tenant: Cast) -> None:
    task = _task(tenant.alice, due_date="2026-03-01", priority="high")
    path = f"tasks/{task['id']}/"
    assert (task["due_date"], task["priority"], task["status"]) == ("2026-03-01", "high", "pending")
    done = _ask(tenant.alice, "PATCH", path, {"status": "completed", "due_date": None}).json()
    assert (done["status"], done["due_date"], done["title"]) == ("completed", None, "Buy milk")
    assert done["completed_at"] is not None
    assert _ask(tenant.alice, "GET", "tasks/?status=pending").json()["results"] == []
    assert [each["id"] for each in _ask(tenant.alice, "GET", "tasks/?status=completed").json()["results"]] == [
        task["id"]
    ]
    assert _ask(tenant.alice, "DELETE", path).status_code == 204
    assert rows("SELECT id FROM tasks WHERE id = %(id)s", id=task["id"]) == []


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_anothers_note_or_task_is_not_there(tenant: Cast, other_tenant: Cast, method: str) -> None:
    paths = [f"notes/{_note(tenant.alice)['id']}/", f"tasks/{_task(tenant.alice)['id']}/"]
    before = [_ask(tenant.alice, "GET", path).json() for path in paths]
    for other in (tenant.bob, tenant.olga, other_tenant.alice):
        for path in paths:
            body = {"title": "Mine"} if method == "PATCH" else None
            assert _ask(other, method, path, body).status_code == 404
    assert [_ask(tenant.alice, "GET", path).json() for path in paths] == before
    assert _ask(tenant.bob, "GET", "notes/").json()["results"] == []
    assert _ask(tenant.bob, "GET", "notes/search/?q=passport").json()["results"] == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("notes/", {"title": "", "content": ""}),
        ("notes/", {"title": "t" * 501, "content": ""}),
        ("notes/", {"title": "a\u0000b", "content": ""}),
        ("notes/", {"title": "a", "content": "\u001b[31m"}),
        ("notes/", {"title": "a", "content": "", "tags": ["x"] * 51}),
        ("notes/", {"title": "a", "content": "c" * 100_001}),
        ("tasks/", {"title": "t", "due_date": "soon"}),
        ("tasks/", {"title": "t", "priority": "urgent"}),
    ],
)
def test_what_cannot_be_kept_is_refused(tenant: Cast, path: str, body: dict[str, Any]) -> None:
    assert _ask(tenant.alice, "POST", path, body).status_code == 400
    assert _ask(tenant.alice, "GET", path).json()["results"] == []


def test_language_and_time_zone_are_ones_own_and_notes_follow_the_language(tenant: Cast) -> None:
    _note(tenant.alice, title="Die Häuser", content="")
    assert _ask(tenant.alice, "GET", "notes/search/?q=Haus").json()["results"] == []
    me = _ask(tenant.alice, "PATCH", "me/", {"language": "german", "time_zone": "Europe/Berlin"}).json()
    assert (me["username"], me["language"], me["time_zone"]) == (tenant.alice.username, "german", "Europe/Berlin")
    found = _ask(tenant.alice, "GET", "notes/search/?q=Haus").json()["results"]
    assert [each["title"] for each in found] == ["Die Häuser"]
    assert _ask(tenant.bob, "GET", "me/").json()["language"] == "english"
    for wrong in ({"language": "klingon"}, {"time_zone": "Mars/Olympus"}, {"time_zone": "../etc/passwd"}):
        assert _ask(tenant.alice, "PATCH", "me/", wrong).status_code == 400


def test_the_pages_do_what_rest_does(tenant: Cast) -> None:
    browser = signed_in(tenant.alice)
    assert browser.post("/notes/", {"title": "Plan <b>", "content": "a\r\nb", "tags": "x, y ,x"}).status_code == 302
    [note] = _ask(tenant.alice, "GET", "notes/").json()["results"]
    assert (note["title"], note["content"], note["tags"]) == ("Plan <b>", "a\nb", ["x", "y"])
    shown = browser.get("/notes/?q=plan").content.decode()
    assert "Plan &lt;b&gt;" in shown and "<b>" not in shown
    page = f"/notes/{note['id']}/"
    stale = browser.post(page, {"title": "Other", "content": "", "tags": "", "seen": "2020-01-01T00:00:00+00:00"})
    assert stale.status_code == 409 and b"changed since you read it" in stale.content
    assert (
        browser.post(page, {"title": "Other", "content": "", "tags": "", "seen": note["updated_at"]}).status_code == 302
    )
    assert browser.post(f"{page}delete/").status_code == 302
    assert browser.get(page).status_code == 404
    assert browser.post("/tasks/", {"title": "Call", "due_date": "", "priority": "low"}).status_code == 302
    [task] = _ask(tenant.alice, "GET", "tasks/").json()["results"]
    assert b"Call" in browser.get("/tasks/").content
    assert browser.post(f"/tasks/{task['id']}/complete/").status_code == 302
    assert _ask(tenant.alice, "GET", f"tasks/{task['id']}/").json()["status"] == "completed"
    assert signed_in(tenant.bob).post(f"/tasks/{task['id']}/reopen/").status_code == 404
    assert _ask(tenant.alice, "GET", f"tasks/{task['id']}/").json()["status"] == "completed"
    assert browser.get("/settings/profile/").status_code == 200
    assert browser.post("/settings/profile/", {"language": "french", "time_zone": "UTC"}).status_code == 302
    assert _ask(tenant.alice, "GET", "me/").json()["language"] == "french"


def test_everything_can_be_taken_along(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.keeping import exporting

    monkeypatch.setattr(exporting, "BATCH", 2)
    for number in range(5):
        _note(tenant.alice, title=f"Note {number}")
    _task(tenant.alice)
    _note(tenant.bob, title="Bob's")
    browser = Client()
    browser.cookies["sessionid"] = session_of(tenant.alice)
    answer = browser.get("/notes/export.jsonl")
    lines = [json.loads(line) for line in b"".join(_streamed(answer)).splitlines()]
    assert [(line["kind"], line["title"]) for line in lines] == [
        *(("note", f"Note {number}") for number in range(5)),
        ("task", "Buy milk"),
    ]


def _streamed(answer: Any) -> list[bytes]:
    import asyncio

    async def read() -> list[bytes]:
        return [piece async for piece in answer.streaming_content]

    return asyncio.run(read())


def test_erasing_a_person_erases_what_is_kept_for_them_and_nothing_else(tenant: Cast) -> None:
    _note(tenant.alice)
    _task(tenant.alice)
    kept = _note(tenant.bob)
    me = _ask(tenant.alice, "GET", "me/").json()["id"]
    erased = _ask(tenant.olga, "POST", "erasures/", {"user": me})
    assert (erased.status_code, erased.json()["stored"]) == (201, 2)
    assert _ask(tenant.alice, "GET", "notes/").json()["results"] == []
    assert _ask(tenant.alice, "GET", "tasks/").json()["results"] == []
    assert _ask(tenant.bob, "GET", f"notes/{kept['id']}/").json() == kept
