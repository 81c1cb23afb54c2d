"""Lists that a tenant or a person can make long: a page at a time, with a way to the others."""

from typing import Any

import pytest

from gateway.runs.agents import changes as agents
from gateway.sign_on import settings_pages
from gateway.web import chat_pages
from tenants.me import applications
from tenants.me import sessions as session_pages
from tenants.models import SignOnProvider
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.agents.asking import ask
from tests.agents.test_tool_settings_api import SETTINGS, shop
from tests.pages.browsing import signed_in
from tests.pages.test_own_settings import granted
from tests.people import Cast, Person

__all__ = ["shop"]
NEXT = '<a class="button" rel="next" href="?page=2">Next</a>'


def page(who: Person, path: str) -> str:
    """The page's text."""
    answer = signed_in(who).get(path)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def test_the_settings_of_tools_are_paged_in_both_directions(tenant: Cast, shop: str) -> None:
    def names(path: str) -> tuple[list[str], Any, Any]:
        body = ask(tenant.olga, "GET", path).json()
        assert set(body) == {"next", "previous", "results"}
        return [each["tool"] for each in body["results"]], body["next"], body["previous"]

    every, following, previous = names(SETTINGS)
    assert (following, previous, every[-1]) == (None, None, "shop.buy")
    assert every[:-1] == sorted(every[:-1])
    found, pages, path = [], [], f"{SETTINGS}?limit=7"
    while path:
        shown, path, previous = names(path)
        pages.append(shown)
        found += shown
    assert found == every and {len(shown) for shown in pages[:-1]} == {7}
    assert names(previous)[0] == pages[-2]
    assert ask(tenant.olga, "GET", f"{SETTINGS}?cursor=nonsense").status_code == 404


def test_sessions_are_paged_with_this_one_first(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_pages, "_SHOWN", 2)
    clients = [signed_in(tenant.alice) for _ in range(4)]
    for client in clients:
        client.get("/settings/sessions/")
    first = clients[0].get("/settings/sessions/").content.decode()
    assert first.count('class="card entry"') == 2 and first.index("this one") < first.index("Log out there")
    assert NEXT in first and "Log out everywhere else" in first
    second = clients[0].get("/settings/sessions/?page=2").content.decode()
    assert second.count('class="card entry"') == 2 and "this one" not in second


def test_single_sign_on_and_applications_are_paged(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_pages, "_SHOWN", 2)
    monkeypatch.setattr(applications, "_SHOWN", 2)
    with on_login("operator"):
        for number in range(3):
            SignOnProvider.objects.create(tenant_id=tenant.id, domain=f"d{number}.example", issuer="https://i.example")
    for number in range(3):
        granted(tenant.alice, f"Editor {number}")
    shown = page(tenant.olga, "/settings/sign-on/")
    assert NEXT in shown and "d1.example" in shown and "d2.example" not in shown
    assert "d2.example" in page(tenant.olga, "/settings/sign-on/?page=2")
    shown, rest = (page(tenant.alice, f"/settings/applications/{query}") for query in ("", "?page=2"))
    assert (NEXT in shown, shown.count("End access"), rest.count("End access")) == (True, 2, 1)
    assert "No applications" in page(tenant.bob, "/settings/applications/")


def test_the_chats_menu_has_so_many_agents_and_any_by_its_slug(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_pages, "MENU", 3)
    with transactions.scope(*tenant.olga.scope):
        for number in range(4):
            agents.add(tenant.id, {"slug": f"a{number}", "name": f"Agent {number}", "tools": []})
    shown = page(tenant.alice, "/")
    menu = shown[shown.index('<select id="agent"') : shown.index("</select>", shown.index('<select id="agent"'))]
    assert (menu.count("<option"), "?agent=" in shown, "Agent 3" in menu) == (3, True, False)
    shown = page(tenant.alice, "/?agent=a3")
    assert '<option value="a3" selected>Agent 3</option>' in shown and shown.count("selected>Agent") == 1
    assert signed_in(tenant.alice).get("/?agent=no%20slug").status_code == 404
