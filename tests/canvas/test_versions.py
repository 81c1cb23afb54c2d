"""A conversation's canvas: drawn by calls, read over REST, and shown to nobody else."""

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import orjson
import pytest
from django.core import signing
from django.test import Client

from tenants.scope.transactions import TenantScope, close_pools, transaction
from tests.browser.sessions import session_of
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast, Person
from tests.stack import Stack
from tests.tools.context import context
from tools.builtin.canvas import Canvas
from tools.errors import ToolPermissionDenied
from tools.interface import Artifact
from tools.keeping import canvas_pages, canvases
from tools.stores import CanvasStore
from tools.stores import canvases as stored

IN_A_FRAME = {"Sec-Fetch-Dest": "iframe"}
PAGE = {"title": "Tea", "html": "<h1>Tea & more</h1>", "css": "h1 { color: red }", "js": "document.title = 'x'"}


def ask(who: Person, path: str, method: str = "GET") -> Any:
    client = Client(headers={"Authorization": f"Bearer {who.key}"})
    return client.generic(method, f"/api/v1/conversations/{path}")


def conversation(who: Person) -> str:
    client = Client(headers={"Authorization": f"Bearer {who.key}"})
    return str(client.post("/api/v1/conversations/", "{}", content_type="application/json").json()["id"])


def draw(who: Person, conversation_id: str, **page: str) -> Any:
    return asyncio.run(_drawn(who, conversation_id, PAGE | page))


async def _drawn(who: Person, conversation_id: str, page: dict[str, str]) -> Any:
    whose = who.principal
    try:
        async with transaction(TenantScope(whose.tenant_id, whose.user_id)) as connection:
            store = CanvasStore(connection, whose.tenant_id, whose.user_id, uuid.UUID(conversation_id), uuid.uuid4())
            return await Canvas().execute(page, context(canvas=store))
    finally:
        await close_pools()


def test_each_call_is_a_version_and_the_last_ones_stay(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "VERSIONS", 3)
    chat = conversation(tenant.alice)
    first = draw(tenant.alice, chat)
    assert first.output == {"canvas_id": first.artifacts[0].id, "title": "Tea", "version": 1}
    assert first.artifacts == (Artifact("canvas", first.output["canvas_id"], "created"),)
    assert first.display == "Drew “Tea”, version 1"
    assert [draw(tenant.alice, chat, html=str(number)).output["version"] for number in (2, 3, 4)] == [2, 3, 4]
    kept = rows("SELECT version, html FROM canvas_versions WHERE conversation_id = %(c)s ORDER BY version", c=chat)
    assert [(row["version"], row["html"]) for row in kept] == [(2, "2"), (3, "3"), (4, "4")]


async def test_a_call_without_a_conversation_draws_nothing() -> None:
    with pytest.raises(ToolPermissionDenied, match="Ask for it in a chat"):
        await Canvas().execute(PAGE, context())


def test_a_drawing_in_a_chat_is_a_version_of_its_conversation(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, "Please draw bars: tea 3, coffee 5").json()
    [call] = body["tool_calls"]
    assert (call["tool"], call["status"], call["display"]) == ("canvas", "success", "Drew “bars”, version 1")
    assert 'I drew "bars" beside this conversation (version 1).' in body["content"]
    path = f"{body['conversation_id']}/canvas/"
    [listed] = ask(tenant.alice, path).json()["results"]
    assert (listed["version"], listed["title"], listed["call_id"]) == (1, "bars", call["id"])
    assert "<dt>tea</dt><dd>3</dd><dt>coffee</dt><dd>5</dd>" in ask(tenant.alice, f"{path}1/").json()["html"]
    alone = httpx.post(
        f"{stack.url}/api/v1/tools/canvas/calls", json={"arguments": PAGE}, headers=tenant.alice.headers
    ).json()
    assert (alone["status"], alone["error"]["code"]) == ("error", "permission_denied")
    assert len(rows("SELECT id FROM canvas_versions WHERE tenant_id = %(t)s", t=tenant.id)) == 1


def test_a_conversation_that_has_read_both_draws_only_what_a_human_has_approved(stack: Stack, tenant: Cast) -> None:
    read = 'call: search_notes {"query": "tea"}\ncall: web_search {"query": "tea"}'
    body = stack.chat(tenant.alice, f"{read}\nthen:\ncall: canvas {orjson.dumps(PAGE).decode()}").json()
    assert (body["status"], body["tool_calls"][-1]["status"]) == ("requires_action", "awaiting_approval")
    assert ask(tenant.alice, f"{body['conversation_id']}/canvas/").json()["results"] == []


def test_versions_are_read_and_deleted_by_their_user_alone(tenant: Cast, other_tenant: Cast) -> None:
    chat = conversation(tenant.alice)
    assert ask(tenant.alice, f"{chat}/canvas/").json()["results"] == []
    assert ask(tenant.alice, f"{chat}/canvas/", "DELETE").status_code == 404
    draw(tenant.alice, chat)
    draw(tenant.alice, chat, title="Coffee")
    listed = ask(tenant.alice, f"{chat}/canvas/").json()["results"]
    assert [(each["version"], each["title"]) for each in listed] == [(2, "Coffee"), (1, "Tea")]
    assert set(listed[0]) == {"id", "version", "title", "call_id", "created_at"}
    read = ask(tenant.alice, f"{chat}/canvas/1/").json()
    assert {name: read[name] for name in PAGE} == PAGE
    assert ask(tenant.alice, f"{chat}/canvas/3/").status_code == 404
    for who in (tenant.bob, tenant.olga, tenant.dana, other_tenant.alice):
        for path in ("", "1/"):
            assert ask(who, f"{chat}/canvas/{path}").status_code == 404
        assert ask(who, f"{chat}/canvas/", "DELETE").status_code == 404
    assert len(rows("SELECT id FROM canvas_versions WHERE conversation_id = %(c)s", c=chat)) == 2
    assert ask(tenant.alice, f"{chat}/canvas/", "DELETE").status_code == 204
    assert rows("SELECT id FROM canvas_versions WHERE conversation_id = %(c)s", c=chat) == []


def test_a_canvas_is_exported_and_goes_with_its_conversation(tenant: Cast) -> None:
    chat = conversation(tenant.alice)
    draw(tenant.alice, chat)
    browser = Client()
    browser.cookies["sessionid"] = session_of(tenant.alice)
    [line] = [orjson.loads(line) for line in asyncio.run(_streamed(browser.get("/notes/export.jsonl"))).splitlines()]
    assert line["kind"] == "canvas"
    assert {name: line[name] for name in PAGE} == PAGE
    assert (line["conversation_id"], line["version"]) == (chat, 1)
    assert ask(tenant.alice, f"{chat}/", "DELETE").status_code == 204
    assert rows("SELECT id FROM canvas_versions WHERE conversation_id = %(c)s", c=chat) == []


async def _streamed(answer: Any) -> bytes:
    return b"".join([piece async for piece in answer.streaming_content])


def test_a_link_shows_its_version_without_a_session_under_a_policy_of_its_own(tenant: Cast) -> None:
    chat = conversation(tenant.alice)
    draw(tenant.alice, chat, js="a('</script><b>')", css="b { content: '</STYLE>' }")
    read = ask(tenant.alice, f"{chat}/canvas/1/").json()
    lasts = datetime.fromisoformat(read["view_expires_at"]) - datetime.now(UTC)
    assert timedelta(0) < lasts <= timedelta(minutes=1)
    shown = Client().get(read["view_path"], headers=IN_A_FRAME)
    assert (shown.status_code, shown["Content-Security-Policy"]) == (200, canvas_pages.POLICY)
    assert canvas_pages.POLICY.endswith("sandbox allow-scripts")
    assert (shown["Connection-Allowlist"], shown["Cache-Control"], shown["Referrer-Policy"]) == (
        "()", "no-store", "no-referrer",
    )  # fmt: skip
    assert not shown.cookies
    assert shown.content.decode() == (
        "<!doctype html><meta charset=\"utf-8\"><title>Tea</title><style>b { content: '<\\/STYLE>' }</style>"
        "<h1>Tea & more</h1><script>a('<\\/script><b>')</script>"
    )


def test_a_link_that_is_old_changed_or_of_somebody_who_left_shows_nothing(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = conversation(tenant.alice)
    draw(tenant.alice, chat)
    path = ask(tenant.alice, f"{chat}/canvas/1/").json()["view_path"]

    def refused(link: str = path) -> tuple[int, bool, str]:
        answer = Client().get(link, headers=IN_A_FRAME)
        return answer.status_code, b"Tea" in answer.content, answer["Content-Security-Policy"]

    for elsewhere in ({}, {"Sec-Fetch-Dest": "document"}, {"Sec-Fetch-Dest": "empty"}):
        answer = signed_in(tenant.alice).get(path, headers=elsewhere)
        assert (answer.status_code, b"Tea" in answer.content) == (403, False)
        assert answer["Content-Security-Policy"] == canvas_pages.POLICY
    assert Client().post(path, headers=IN_A_FRAME).status_code == 405
    assert Client().get(path, headers=IN_A_FRAME).status_code == 200
    assert refused(path[:-3] + ("AA/" if path[-3:] != "AA/" else "BB/")) == (404, False, canvas_pages.POLICY)
    assert refused(f"/canvas/{signing.dumps(['a'])}/") == (404, False, canvas_pages.POLICY)
    with monkeypatch.context() as later:
        later.setattr(canvases, "LIFETIME", timedelta(seconds=-1))
        assert refused() == (410, False, canvas_pages.POLICY)
    rows("DELETE FROM memberships WHERE user_id = %(u)s RETURNING id", u=tenant.alice.scope.user_id)
    assert refused() == (404, False, canvas_pages.POLICY)
