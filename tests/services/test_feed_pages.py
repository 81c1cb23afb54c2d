"""The page on which an owner chooses the feeds of an MCP server; in this process, without a server."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from services import changes
from services.changes import NewService, Source
from tenants.scope import transactions
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast
from tests.services.calling import allowed
from tests.services.test_service_pages import add as add_http
from tests.services.test_service_pages import posted, text_of

PAGE = "/settings/services/far/feeds/"


@pytest.fixture(autouse=True)
def _allowed() -> Iterator[None]:
    with allowed():
        yield


def add(tenant: Cast, many: int = 2) -> None:
    """An MCP server with resources, as its snapshot has them."""
    listed = [{"uri": f"notes://{n}", "name": f"Note {n}", "description": "<b>Words</b>"} for n in range(many)]
    document = {"revision": "2025-11-25", "tools": [], "resources": listed, "about": {"instructions": "Read first."}}
    with transactions.scope(*tenant.olga.scope):
        wanted = NewService.read({"slug": "far", "kind": "mcp", "url": "https://mcp.example.com/mcp"})
        changes.add(tenant.id, wanted, Source("mcp", changes.text_of(document, "url")))


def form(tenant: Cast, query: str = "") -> dict[str, Any]:
    """The fields of the form as a browser would send them when nothing is changed."""
    page = signed_in(tenant.olga).get(PAGE + query).content.decode()
    inputs = [dict(re.findall(r'(\w+)="([^"]*)"', each)) | {"on": " checked" in each}
              for each in re.findall(r"<input ([^>]*)>", page)]  # fmt: skip
    sent: dict[str, Any] = {
        each["name"]: each["value"] for each in inputs if each["name"].startswith(("name.", "ttl."))
    }
    sent |= {each["name"]: "on" for each in inputs if each.get("type") == "checkbox" and each["on"]}
    [seen] = [each["value"] for each in inputs if each["name"] == "seen"]
    return sent | {"seen": seen, "uri": [each["value"] for each in inputs if each["name"] == "uri"]}


def stored(tenant: Cast) -> dict[str, Any]:
    """What is stored of the service."""
    [found] = rows("SELECT feeds, in_prompts FROM services WHERE tenant_id = %(t)s AND slug = 'far'", t=tenant.id)
    return found


def test_an_owner_makes_feeds_of_resources_and_takes_them_back(tenant: Cast) -> None:
    add(tenant)
    assert stored(tenant) == {"feeds": [], "in_prompts": False}
    sent = form(tenant) | {"use.1": "on", "name.1": "today", "ttl.1": "30", "in_prompts": "on"}
    assert posted(tenant.olga, PAGE, sent).headers["Location"] == PAGE
    assert stored(tenant) == {"feeds": [{"name": "today", "uri": "notes://1", "ttl": 30}], "in_prompts": True}
    [*_, changed] = rows("SELECT changes FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert changed["changes"]["in_prompts"] == [False, True] and "notes://1" in str(changed["changes"]["feeds"])
    # The feed comes first then, and the resource is not there twice.
    again = form(tenant)
    assert (again["uri"], again["name.0"], again["ttl.0"], again["use.0"]) == (
        ["notes://1", "notes://0"], "today", "30", "on",
    )  # fmt: skip
    del again["use.0"]
    posted(tenant.olga, PAGE, again)
    assert stored(tenant) == {"feeds": [], "in_prompts": True}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"ttl.0": "soon"}, "must be a number of seconds"),
        ({"ttl.0": "0"}, "ttl must be from 1 to 86,400 seconds"),
        ({"ttl.0": "nan"}, "ttl must be from 1 to 86,400 seconds"),
        ({"name.0": ""}, "name"),
        ({"use.1": "on", "name.1": "today"}, "Two feeds have the same name."),
        ({"uri": ["notes://elsewhere"]}, "must be that of a resource which the server lists"),
    ],
)
def test_a_refused_form_says_why_and_is_shown_as_it_was_sent(tenant: Cast, wrong: dict[str, Any], words: str) -> None:
    add(tenant)
    answer = posted(tenant.olga, PAGE, form(tenant) | {"use.0": "on", "name.0": "today"} | wrong)
    assert (answer.status_code, words in text_of(answer)) == (400, True)
    assert re.search(r'name="use.0" id="use-0" checked', answer.content.decode())
    assert stored(tenant)["feeds"] == []


def test_a_form_that_another_owner_has_outrun_changes_nothing(tenant: Cast) -> None:
    add(tenant)
    stale = form(tenant) | {"use.0": "on"}
    with transactions.scope(*tenant.olga.scope):
        changes.change("far", {"feeds": [{"name": "other", "uri": "notes://1", "ttl": 5}]})
    answer = posted(tenant.olga, PAGE, stale)
    assert (answer.status_code, "Another owner has changed the feeds meanwhile" in text_of(answer)) == (409, True)
    assert stored(tenant)["feeds"] == [{"name": "other", "uri": "notes://1", "ttl": 5}]


def test_feeds_that_a_search_does_not_show_are_kept_and_markup_of_the_server_is_text(tenant: Cast) -> None:
    add(tenant, 400)
    with transactions.scope(*tenant.olga.scope):
        changes.change("far", {"feeds": [{"name": "first", "uri": "notes://0", "ttl": 5}]})
    page = signed_in(tenant.olga).get(PAGE).content.decode()
    assert "There are more resources" in page and "<b>Words" not in page and len(page) < 150_000
    sent = form(tenant, "?q=note+399")
    assert sent["uri"] == ["notes://0", "notes://399"]
    posted(tenant.olga, PAGE, sent | {"use.1": "on"})
    assert [each["uri"] for each in stored(tenant)["feeds"]] == ["notes://0", "notes://399"]


def test_the_feeds_of_what_is_no_mcp_server_are_in_its_descriptor(tenant: Cast) -> None:
    add_http(tenant)
    assert signed_in(tenant.olga).get("/settings/services/desk/feeds/").status_code == 404
    assert posted(tenant.olga, "/settings/services/desk/feeds/", {}).status_code == 404
