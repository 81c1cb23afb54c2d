"""Services as pages, without a script: an owner adds one, switches its tools on, reads what changed, and removes it."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connections
from django.http import HttpResponse
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext

from gateway.models import Agent
from services import changes
from services.changes import NewService, Source
from services.models import ServiceTool
from services.web.forms import CREDENTIALS
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.browser.sessions import session_of
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast, Person
from tests.services.api import TOKEN, TRADING, Api, as_json
from tests.services.calling import allowed

LIST = "/settings/services/"
NEW = f"{LIST}-/new/"
DESK = f"{LIST}desk/"
SPEC = {
    "openapi": "3.1.0",
    "info": {"title": "Help desk", "version": "1"},
    "servers": [{"url": "/v2"}],
    "paths": {
        "/tickets": {
            "get": {"operationId": "listTickets", "summary": "All tickets"},
            "post": {"operationId": "openTicket", "summary": "Open one"},
        }
    },
}


@pytest.fixture(autouse=True)
def _allowed() -> Iterator[None]:
    with allowed():
        yield


def posted(person: Person, path: str, form: dict[str, Any]) -> HttpResponse:
    """A form's answer, in an event loop, whose connections are closed with it."""
    client = AsyncClient()
    client.cookies["sessionid"] = session_of(person)

    async def sent() -> HttpResponse:
        try:
            return await client.post(path, form)
        finally:
            connections.close_all()

    answer: HttpResponse = async_to_sync(sent)()
    return answer


def read(person: Person, path: str) -> str:
    """A page's text, as a reader sees it."""
    answer = signed_in(person).get(path)
    assert answer.status_code == 200, answer
    return text_of(answer)


def text_of(answer: HttpResponse) -> str:
    """The words of a page, without its tags."""
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split()))


def add(tenant: Cast, slug: str = "desk", document: Any = TRADING, url: str = "https://api.example.com") -> None:
    """A service of a descriptor, added as REST does."""
    with transactions.scope(*tenant.olga.scope):
        wanted = NewService.read({"slug": slug, "kind": "http", "url": url})
        changes.add(tenant.id, wanted, Source("http", changes.text_of(document, "descriptor")))


def tools(tenant: Cast, name: str = "") -> list[dict[str, Any]]:
    """The rows of the tenant's tools."""
    found = rows("SELECT * FROM service_tools WHERE tenant_id = %(t)s ORDER BY name", t=tenant.id)
    return [each for each in found if not name or each["name"] == name]


def fields(**more: Any) -> dict[str, Any]:
    """The form of a new service."""
    credential = {"credential": "bearer", "bearer.token": TOKEN}
    return {"step": "add", "slug": "help", "timeout": "20", **credential, **more}


def test_an_owner_pastes_the_address_of_an_openapi_document_chooses_and_adds(tenant: Cast, api: Api, url: str) -> None:
    api.on("/openapi.json", as_json(SPEC))
    looked = posted(tenant.olga, NEW, {"step": "look", "address": f"{url}/openapi.json"})
    page = text_of(looked)
    assert "Help desk" in page and "GET /tickets All tickets" in page
    assert f'name="url" required maxlength="2048" spellcheck="false" autocapitalize="none" value="{url}/v2"' in (
        looked.content.decode()
    )
    assert tools(tenant) == []
    form = fields(address=f"{url}/openapi.json", url=f"{url}/v2", operation=["openTicket"])
    added = posted(tenant.olga, NEW, form)
    assert (added.status_code, added.headers["Location"]) == (302, f"{LIST}help/")
    [tool] = tools(tenant)
    assert (tool["name"], tool["enabled"], tool["tier"]) == ("openTicket", False, "system")
    assert TOKEN not in read(tenant.olga, f"{LIST}help/settings/") + str(rows("SELECT * FROM services"))
    # Nothing was asked but the document.
    assert {asked.path for asked in api.asked} == {"/openapi.json"}


def test_a_refused_form_adds_nothing_says_why_and_never_shows_the_secret_again(
    tenant: Cast, api: Api, url: str
) -> None:
    api.on("/d.json", as_json(TRADING))
    answer = posted(tenant.olga, NEW, fields(address=f"{url}/d.json", url=url, slug="No Slug"))
    assert answer.status_code == 400
    assert "slug must be lower-case letters" in text_of(answer)
    assert TOKEN not in answer.content.decode()
    assert rows("SELECT * FROM services WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_what_fails_while_it_is_added_leaves_no_service_behind(tenant: Cast, api: Api, url: str) -> None:
    add(tenant, "help")
    api.on("/d.json", as_json(TRADING))
    answer = posted(tenant.olga, NEW, fields(address=f"{url}/d.json", url=url))
    assert (answer.status_code, "There is a service help already" in text_of(answer)) == (409, True)
    assert len(rows("SELECT * FROM services WHERE tenant_id = %(t)s", t=tenant.id)) == 1


def test_switching_on_is_asked_about_first_and_says_how_far_each_tool_reaches(tenant: Cast) -> None:
    add(tenant)
    asked = posted(tenant.olga, f"{DESK}tools/", {"tool": ["get_order", "execute_trade"], "action": "on"})
    assert "Switch on 2 tools" in text_of(asked)
    assert [each["enabled"] for each in tools(tenant)] == [False, False, False]
    form = {
        "tool": ["get_order", "execute_trade"], "action": "on", "confirmed": "1",
        "get_order.tier": "read_only", "get_order.idempotent": "on", "get_order.reads_private": "on",
        "execute_trade.tier": "elevated", "execute_trade.leaves_tenant": "on",
    }  # fmt: skip
    assert posted(tenant.olga, f"{DESK}tools/", form).status_code == 302
    [order], [trade] = tools(tenant, "get_order"), tools(tenant, "execute_trade")
    assert (order["enabled"], order["tier"], order["idempotent"]) == (True, "read_only", True)
    assert (order["reads_private"], order["reads_untrusted"], order["leaves_tenant"]) == (True, False, False)
    assert (trade["enabled"], trade["tier"], trade["idempotent"]) == (True, "elevated", False)
    posted(tenant.olga, f"{DESK}tools/", {"tool": ["get_order"], "action": "off"})
    assert [tools(tenant, "get_order")[0][name] for name in ("enabled", "tier")] == [False, "read_only"]


def test_what_lets_a_tool_do_more_is_confirmed_and_what_lets_it_do_less_is_not(tenant: Cast) -> None:
    add(tenant)
    path = f"{DESK}tools/execute_trade/"
    labels = {"reads_private": "on", "reads_untrusted": "on", "leaves_tenant": "on"}
    assert posted(tenant.olga, path, {"tier": "elevated", **labels}).status_code == 302
    assert tools(tenant, "execute_trade")[0]["tier"] == "elevated"
    more = {"tier": "system", "enabled": "on", "idempotent": "on", "reads_private": "on", "reads_untrusted": "on"}
    question = text_of(posted(tenant.olga, path, more))
    for words in ("It can be called by everybody", "Its tier falls from elevated to system.", "is sent again"):
        assert words in question
    assert "It is not said any more: sends something out of the tenant." in question
    assert (tools(tenant, "execute_trade")[0]["enabled"], tools(tenant, "execute_trade")[0]["tier"]) == (
        False,
        "elevated",
    )
    assert posted(tenant.olga, path, more | {"confirmed": "1"}).status_code == 302
    assert (tools(tenant, "execute_trade")[0]["enabled"], tools(tenant, "execute_trade")[0]["tier"]) == (True, "system")


def test_a_tool_that_changed_shows_what_changed_and_is_accepted_as_it_was_shown_only(
    tenant: Cast, api: Api, url: str
) -> None:
    api.on("/d.json", as_json(TRADING))
    posted(tenant.olga, NEW, fields(address=f"{url}/d.json", url=url, slug="desk"))
    changed = json.loads(json.dumps(TRADING))
    changed["tools"][1]["description"] = "Execute any order <b>at all</b>"
    api.on("/d.json", as_json(changed))
    assert posted(tenant.olga, f"{DESK}refresh/", {}).status_code == 302
    page = signed_in(tenant.olga).get(f"{DESK}tools/execute_trade/").content.decode()
    assert "<mark>Execute a market order</mark>" in page
    assert "<mark>Execute any order &lt;b&gt;at all&lt;/b&gt;</mark>" in page
    stale = posted(tenant.olga, f"{DESK}tools/execute_trade/accept/", {"hash": "0" * 64})
    assert stale.status_code == 302 and tools(tenant, "execute_trade")[0]["pending"] is not None
    [found] = re.findall(r'name="hash" value="(\w+)"', page)
    posted(tenant.olga, f"{DESK}tools/execute_trade/accept/", {"hash": found})
    assert tools(tenant, "execute_trade")[0]["pending"] is None
    assert read(tenant.olga, f"{DESK}?show=changed").count("Nothing matches") == 1


def test_who_may_use_a_tool_is_said_by_agent_and_role(tenant: Cast) -> None:
    add(tenant)
    page = read(tenant.olga, f"{DESK}tools/get_order/")
    assert "Who may use it once it is on Default (default) : everybody" in page
    with transactions.scope(*tenant.olga.scope):
        ServiceTool.objects.filter(name="get_order").update(tier="elevated")
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(max_tier="system")
    page = read(tenant.olga, f"{DESK}tools/get_order/")
    assert "Default (default) : nobody" in page and "max tier" in page


def test_a_service_keeps_its_credential_unless_another_is_given_and_never_takes_it_elsewhere(
    tenant: Cast, api: Api, url: str
) -> None:
    api.on("/d.json", as_json(TRADING))
    posted(tenant.olga, NEW, fields(address=f"{url}/d.json", url=url, slug="desk"))
    secret = rows("SELECT secret FROM services WHERE tenant_id = %(t)s", t=tenant.id)
    form = {"url": f"{url}/v2", "timeout": "5", "credential": "keep", "enabled": "on"}
    assert posted(tenant.olga, f"{DESK}settings/", form).status_code == 302
    refused = posted(tenant.olga, f"{DESK}settings/", form | {"url": "https://evil.example"})
    assert (refused.status_code, "given for another host" in text_of(refused)) == (400, True)
    [row] = rows("SELECT url, timeout, secret, in_prompts FROM services WHERE tenant_id = %(t)s", t=tenant.id)
    assert (row["url"], row["timeout"], row["in_prompts"]) == (f"{url}/v2", 5.0, False)
    assert [{"secret": row["secret"]}] == secret


def test_a_test_asks_once_and_says_what_came_of_it(tenant: Cast, api: Api, url: str) -> None:
    add(tenant, url=url)
    assert posted(tenant.olga, f"{DESK}test/", {}).status_code == 302
    assert [(asked.method, asked.path) for asked in api.asked] == [("GET", "/")]


def test_removing_is_asked_about_first(tenant: Cast) -> None:
    add(tenant)
    assert "Its 3 tools and its credential are deleted." in read(tenant.olga, f"{DESK}remove/")
    assert len(tools(tenant)) == 3
    assert posted(tenant.olga, f"{DESK}remove/", {}).headers["Location"] == LIST
    assert tools(tenant) == []


PATHS = (
    "", "-/new/", "desk/", "desk/settings/", "desk/test/", "desk/refresh/", "desk/remove/", "desk/feeds/",
    "desk/tools/", "desk/tools/get_order/", "desk/tools/get_order/accept/",
)  # fmt: skip


@pytest.mark.parametrize("who", ["alice", "carol", "dana"])
def test_nobody_but_owners_sees_or_does_anything_here(tenant: Cast, api: Api, url: str, who: str) -> None:
    add(tenant, url=url)
    before = tools(tenant)
    person = getattr(tenant, who)
    for path in PATHS:
        for answer in (
            signed_in(person).get(LIST + path),
            posted(person, LIST + path, {"address": url, "action": "on"}),
        ):
            assert answer.status_code in (403, 405), path
            assert "get_order" not in answer.content.decode()
    assert (tools(tenant), api.asked) == (before, [])


def test_another_tenant_s_service_is_not_there(tenant: Cast, other_tenant: Cast, api: Api, url: str) -> None:
    add(tenant, url=url)
    before = tools(tenant)
    assert "desk" not in read(other_tenant.olga, LIST).replace("help desk", "")
    for path in PATHS[2:]:
        for answer in (signed_in(other_tenant.olga).get(LIST + path), posted(other_tenant.olga, LIST + path, {})):
            assert answer.status_code in (404, 405), path
    assert (tools(tenant), api.asked) == (before, [])


@pytest.mark.parametrize(
    "path", [f"{LIST}a%00b/", f"{LIST}desk/tools/a%00b/", f"{DESK}?q=%00&page=-1&show=%00", f"{LIST}?page=x"]
)
def test_what_no_page_has_is_no_fault(tenant: Cast, path: str) -> None:
    add(tenant)
    assert signed_in(tenant.olga).get(path).status_code in (200, 400, 404)


def test_pages_cost_as_many_statements_however_much_there_is(tenant: Cast) -> None:
    client = signed_in(tenant.olga)
    http = {"method": "GET", "path": "/a"}
    many = {"version": 2, "tools": [{"name": f"t{n}", "description": "A tool.", "http": http} for n in range(1000)]}
    counts = []
    for slugs, document in ((["a"], TRADING), (["b", "c", "d"], TRADING), (["e"], many)):
        for slug in slugs:
            add(tenant, slug, document)
        with transactions.scope(*tenant.olga.scope):
            ServiceTool.objects.update(enabled=True)
        found = []
        for path in (LIST, f"{LIST}{slugs[-1]}/", f"{LIST}{slugs[-1]}/settings/"):
            with CaptureQueriesContext(connections["default"]) as asked:
                answer = client.get(path)
            assert (answer.status_code, len(answer.content) < 150_000) == (200, True)
            found.append(len(asked))
        counts.append(found)
    assert counts == [counts[0]] * 3


def test_an_owner_adds_an_entry_of_the_catalogue_and_sees_what_is_suggested(tenant: Cast) -> None:
    page = read(tenant.olga, f"{LIST}-/catalogue/slack/")
    assert "post_message Post a message to a channel, or reply in a thread. Elevated" in page
    assert "get_user Who a user id is. Read only" in page
    form = {"slug": "team", "url": "https://slack.com/api", "credential": "bearer", "bearer.token": TOKEN}
    added = posted(tenant.olga, f"{LIST}-/catalogue/slack/", form)
    assert added.headers["Location"] == f"{LIST}team/"
    tiers = {each["name"]: each["tier"] for each in tools(tenant)}
    assert (tiers["post_message"], tiers["read_messages"]) == ("elevated", "read_only")
    assert {each["enabled"] for each in tools(tenant)} == {False}
    assert signed_in(tenant.olga).get(f"{LIST}-/catalogue/nothing/").status_code == 404
    without = posted(tenant.olga, f"{LIST}-/catalogue/webhook/", {"slug": "hooks", "hosts": " ", "credential": "none"})
    assert (without.status_code, "webhook needs hosts" in text_of(without)) == (400, True)
    hosts = {"slug": "hooks", "hosts": "hooks.example.com\r\nci.example.com", "credential": "none"}
    assert posted(tenant.olga, f"{LIST}-/catalogue/webhook/", hosts).status_code == 302


@pytest.mark.parametrize("credential", [each.type for each in CREDENTIALS])
def test_every_credential_can_be_given_and_its_secret_is_never_shown_again(tenant: Cast, credential: str) -> None:
    given = {
        f"{each.type}.{field.name}": TOKEN if field.secret else "X-Client"
        for each in CREDENTIALS
        for field in each.fields
    } | {f"{each.type}.issuer": "https://id.example.com" for each in CREDENTIALS}
    form = fields(document=json.dumps(TRADING), url="https://api.example.com", **given) | {"credential": credential}
    answer = posted(tenant.olga, NEW, form)
    assert (answer.status_code, answer.headers.get("Location")) == (302, f"{LIST}help/"), text_of(answer)
    [row] = rows("SELECT * FROM services WHERE tenant_id = %(t)s", t=tenant.id)
    assert row["identity"] == credential
    page = signed_in(tenant.olga).get(f"{LIST}help/settings/").content.decode()
    assert TOKEN not in page + str(row)
