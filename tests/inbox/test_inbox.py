"""The inbox: written once under a key, read and cleared by its person, and by nobody else."""

import asyncio
import json
import uuid
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from gateway.operations import sweeper
from gateway.runs.conversations import erasure
from notifications.inbox import entries, live
from tests.browser.sessions import session_of
from tests.database import rows
from tests.inbox.inbox import ask, inbox_of, streamed, tell
from tests.notifications.outbox import owner
from tests.pages.browsing import signed_in
from tests.people import Cast
from tools.network import redis


async def test_an_entry_is_written_once_under_its_key(tenant: Cast) -> None:
    first = await tell(tenant.alice, "Report\nready", text="a" * 30_000, key="k")
    assert await tell(tenant.alice, "Another", key="k") is None
    [entry] = await asyncio.to_thread(inbox_of, tenant.alice)
    assert (entry["id"], entry["title"], len(entry["text"])) == (first, "Report ready", entries.MAX_TEXT)
    assert await tell(tenant.bob, "Bob's", key="k") is not None


async def test_entries_are_listed_marked_and_deleted_over_rest(tenant: Cast) -> None:
    ids = [str(await tell(tenant.alice, title)) for title in ("one", "two")]

    def walk() -> None:
        assert ask(tenant.alice, "GET", "inbox/unread/").json() == {"count": 2, "more": False}
        listed = ask(tenant.alice, "GET", "inbox/").json()["results"]
        assert [each["title"] for each in listed] == ["two", "one"]
        read = ask(tenant.alice, "PATCH", f"inbox/{ids[0]}/", {"read": True})
        assert read.status_code == 200 and read.json()["read_at"] is not None
        again = ask(tenant.alice, "PATCH", f"inbox/{ids[0]}/", {"read": True})
        assert again.json()["read_at"] == read.json()["read_at"]
        unread = ask(tenant.alice, "GET", "inbox/?unread=true").json()["results"]
        assert [each["title"] for each in unread] == ["two"]
        assert ask(tenant.alice, "PATCH", f"inbox/{ids[0]}/", {"read": False}).json()["read_at"] is None
        assert ask(tenant.alice, "POST", "inbox/read/").json() == {"marked": 2}
        assert ask(tenant.alice, "DELETE", f"inbox/{ids[0]}/").status_code == 204
        assert ask(tenant.alice, "GET", f"inbox/{ids[0]}/").status_code == 404
        assert ask(tenant.alice, "GET", "inbox/?unread=maybe").json()["code"] == "invalid_request"
        assert ask(tenant.alice, "PATCH", f"inbox/{ids[1]}/", {"read": "perhaps"}).status_code == 400

    await asyncio.to_thread(walk)
    assert [each["title"] for each in await asyncio.to_thread(inbox_of, tenant.alice)] == ["two"]


async def test_nobody_reaches_an_entry_of_somebody_else(tenant: Cast, other_tenant: Cast) -> None:
    entry_id = await tell(tenant.alice, "Alice's own")
    path = f"inbox/{entry_id}/"

    def walk() -> None:
        for who in (tenant.bob, tenant.olga, other_tenant.alice):
            for method, body in (("GET", None), ("PATCH", {"read": True}), ("DELETE", None)):
                assert ask(who, method, path, body).status_code == 404
            assert ask(who, "GET", "inbox/").json()["results"] == []
            page = signed_in(who)
            assert page.post(f"/inbox/{entry_id}/delete/").status_code == 404
            assert "Alice" not in page.get("/inbox/").content.decode()

    await asyncio.to_thread(walk)
    [entry] = await asyncio.to_thread(inbox_of, tenant.alice)
    assert entry["read_at"] is None


async def test_the_page_shows_entries_as_text_and_clears_them(tenant: Cast) -> None:
    await tell(tenant.alice, "<script>alert(1)</script>", text="line one\nline \u202etwo", path="/tasks/")

    def walk() -> None:
        page = signed_in(tenant.alice)
        text = page.get("/inbox/").content.decode()
        assert "&lt;script&gt;alert(1)" in text and "<script>alert" not in text
        assert "‹U+202E›" in text and 'href="/tasks/"' in text
        assert 'aria-label="Inbox, 1 unread"' in text
        [line] = streamed(page, "/inbox/export.jsonl")
        assert json.loads(line)["title"] == "<script>alert(1)</script>"
        assert page.post("/inbox/read/").status_code == 302
        assert 'aria-label="Inbox"' in page.get("/inbox/?unread=1").content.decode()

    await asyncio.to_thread(walk)


def test_every_page_asks_once_how_many_entries_are_unread(tenant: Cast) -> None:
    client = Client()
    client.cookies["sessionid"] = session_of(tenant.alice)
    for page in ("/tasks/", "/settings/", "/inbox/"):
        with CaptureQueriesContext(connections["default"]) as queries:
            assert client.get(page).status_code == 200
        counted = [query["sql"] for query in queries if "inbox_entries" in query["sql"] and "LIMIT 100" in query["sql"]]
        assert len(counted) == 1, page


def test_the_count_of_unread_entries_is_answered_by_its_index(tenant: Cast) -> None:
    who = tenant.alice.scope
    owner(
        "INSERT INTO inbox_entries (id, tenant_id, user_id, kind, key, title, text, path, read_at) SELECT"
        " gen_random_uuid(), %s, %s, 'message', 'k' || n, 't', '', '', CASE WHEN n > 150 THEN now() END"
        " FROM generate_series(1, 2000) n",
        *who,
    )
    assert ask(tenant.alice, "GET", "inbox/unread/").json() == {"count": 99, "more": True}


@pytest.mark.parametrize("reason", [ConnectionError, RuntimeError])
async def test_an_announcement_that_fails_is_no_error(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch, reason: type[Exception]
) -> None:
    async def away(*command: object) -> Any:
        raise reason

    monkeypatch.setattr(redis, "ask", away)
    await live.announce(*tenant.alice.scope)


async def test_old_entries_are_dropped_by_the_tidying(tenant: Cast) -> None:
    await tell(tenant.alice, "old")
    await tell(tenant.alice, "new")
    owner("UPDATE inbox_entries SET created_at = now() - interval '181 days' WHERE tenant_id = %s AND title = 'old'",
          tenant.id)  # fmt: skip
    await sweeper.entries.forget_old()
    assert [each["title"] for each in await asyncio.to_thread(inbox_of, tenant.alice)] == ["new"]


async def test_what_a_person_was_told_is_erased_with_them(tenant: Cast) -> None:
    await tell(tenant.alice, "gone")
    await tell(tenant.bob, "stays")
    who = tenant.alice.principal
    done = await erasure.ask(who, "user", who.user_id)
    assert done.stored == 1
    left = rows("SELECT title FROM inbox_entries WHERE tenant_id = %(t)s", t=tenant.id)
    assert left == [{"title": "stays"}]
    assert uuid.UUID(str(done.ids[0]))
