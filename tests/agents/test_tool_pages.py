"""`/settings/tools/`: servers and their tools, what is said of each, grants, and why somebody may not use one."""

import json
from typing import Any

import pytest

from gateway.runs.agents import tool_settings
from services import changes as service_changes
from services.changes import NewService, Source
from tenants.scope import transactions
from tests.agents.asking import ask, recorded
from tests.database import rows
from tests.pages.browsing import InProcess, signed_in
from tests.people import Cast

PATH = "/settings/tools/"
NOTE, MAIL = f"{PATH}save_note/", f"{PATH}send_email/"
SAID = {"enabled": "on", "tier": "", "rate": "", "approvals_needed": "1", "approval_expires": "86400"}
CONFIRM = "Confirm that it is you"


@pytest.fixture
def olga(tenant: Cast) -> InProcess:
    """An owner's browser; the tenant has a service `shop` with tools that are off."""
    offered = {"version": 2, "name": "shop", "description": "A shop"}
    tool = {"description": "What it does", "inputSchema": {"type": "object", "properties": {}}}
    tools = [tool | {"name": name, "http": {"method": "GET", "path": f"/{name}"}} for name in ("buy", "sell")]
    body = {"slug": "shop", "kind": "http", "url": "https://shop.example", "credential": {"type": "none"}}
    with transactions.scope(*tenant.olga.scope):
        service_changes.add(tenant.id, NewService.read(body), Source("http", json.dumps(offered | {"tools": tools})))
    return signed_in(tenant.olga)


def _text(answer: Any) -> str:
    return str(answer.content.decode())


def _stored(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM tool_settings WHERE tenant_id = %(t)s", t=tenant.id)


def _grants(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM grants WHERE tenant_id = %(t)s", t=tenant.id)


def test_servers_come_first_and_then_their_tools(tenant: Cast, olga: InProcess) -> None:
    page = _text(olga.get(PATH))
    own = len(tool_settings.of_process())
    assert f"{own} of {own} tools on" in page and "0 of 2 tools on" in page
    assert f'href="{PATH}-/shop/"' in page
    built_in = _text(olga.get(f"{PATH}-/"))
    assert f'href="{MAIL}"' in built_in and "shop" not in built_in
    of_shop = _text(olga.get(f"{PATH}-/shop/?q=sell"))
    assert f'href="{PATH}shop.sell/"' in of_shop and "shop.buy" not in of_shop
    for nowhere in (f"{PATH}-/nobody/", f"{PATH}no_such_tool/", f"{PATH}-/a%00b/"):
        assert olga.get(nowhere).status_code == 404


def test_what_is_said_on_the_page_holds_and_what_is_empty_is_the_tools_own(tenant: Cast, olga: InProcess) -> None:
    said = SAID | {"tier": "elevated", "rate": "3/m", "approvals_needed": "2", "approval_expires": "900"}
    page = _text(olga.post(NOTE, said, follow=True))
    assert "save_note is changed." in page and 'value="3/m"' in page
    [row] = _stored(tenant)
    assert (row["tier"], row["rate"], row["approvals_needed"], row["approval_seconds"]) == ("elevated", "3/m", 2, 900)
    olga.post(NOTE, SAID)
    assert _stored(tenant) == []
    without = {name: value for name, value in SAID.items() if name != "enabled"}
    olga.post(NOTE, without)
    assert [row["enabled"] for row in _stored(tenant)] == [False]


def test_a_services_tool_is_switched_on_where_its_service_says_it(tenant: Cast, olga: InProcess) -> None:
    olga.post(f"{PATH}shop.buy/", SAID | {"tier": "read_only"})
    found = rows("SELECT tool_name, enabled, tier FROM service_tools WHERE tenant_id = %(t)s ORDER BY 1", t=tenant.id)
    assert [tuple(each.values()) for each in found] == [
        ("shop.buy", True, "read_only"), ("shop.sell", False, "system"),
    ]  # fmt: skip
    assert _stored(tenant) == []


@pytest.mark.parametrize(
    "wrong", [{"rate": "often"}, {"approvals_needed": "0"}, {"approvals_needed": "x"}, {"tier": "x"}]
)
def test_what_cannot_be_said_is_refused_and_stays_in_the_form(
    tenant: Cast, olga: InProcess, wrong: dict[str, str]
) -> None:
    answer = olga.post(NOTE, SAID | wrong)
    assert answer.status_code == 400
    assert 'role="alert"' in _text(answer)
    assert (_stored(tenant), [each for each in recorded(tenant) if each[0] == "tool_setting"]) == ([], [])


def test_to_take_a_raise_back_the_password_is_asked_for_again(tenant: Cast, olga: InProcess) -> None:
    olga.post(NOTE, SAID | {"tier": "elevated"})
    earlier = signed_in(tenant.olga, seconds_ago=3600)
    answer = earlier.post(NOTE, SAID)
    assert answer.status_code == 403 and CONFIRM in _text(answer)
    assert [row["tier"] for row in _stored(tenant)] == ["elevated"]
    assert earlier.post(NOTE, SAID | {"tier": "elevated", "rate": "1/m"}).status_code == 302


def test_a_grant_is_given_and_taken_away_on_the_page(tenant: Cast, olga: InProcess) -> None:
    deny = {"tool": "*", "effect": "deny", "user": tenant.alice.username, "role": ""}
    page = _text(olga.post(f"{NOTE}grants/", deny, follow=True))
    assert "The grant holds from now on." in page and tenant.alice.username in page
    [row] = _grants(tenant)
    assert (row["tool_name"], row["effect"], row["user_id"]) == ("*", "deny", tenant.alice.principal.user_id)
    stale = signed_in(tenant.olga, seconds_ago=3600)
    assert CONFIRM in _text(stale.post(f"{NOTE}grants/{row['id']}/"))
    assert CONFIRM in _text(stale.post(f"{NOTE}grants/", deny | {"effect": "allow"}))
    assert len(_grants(tenant)) == 1
    assert "The grant is taken away." in _text(olga.post(f"{NOTE}grants/{row['id']}/", follow=True))
    assert _grants(tenant) == []
    assert "taken away already" in _text(olga.post(f"{NOTE}grants/{row['id']}/", follow=True))
    assert "Nothing was granted" in _text(olga.post(f"{NOTE}grants/", deny | {"user": "nobody"}, follow=True))


def test_nobody_may_use_a_tool_that_a_kill_switch_stops(tenant: Cast, olga: InProcess) -> None:
    switch = {"target": {"tool": "save_note"}, "reason": "It leaks."}
    assert ask(tenant.olga, "POST", "/api/v1/kill-switches/", switch).status_code == 201
    page = _text(olga.get(NOTE))
    assert "nobody" in page and "It leaks." in page
    assert "It leaks." not in _text(olga.get(MAIL))


def test_an_owner_sees_gate_by_gate_why_somebody_may_not(tenant: Cast, other_tenant: Cast, olga: InProcess) -> None:
    ask(tenant.olga, "POST", "/api/v1/grants/", {"tool": "save_note", "effect": "deny", "user": tenant.alice.username})
    page = _text(olga.get(NOTE, {"user": tenant.alice.username}))
    assert f"{tenant.alice.username} may not call it." in page
    assert "This person may not use it" in page and "A grant of this tenant denies save_note" in page
    page = _text(olga.get(MAIL, {"user": tenant.bob.username, "agent": "default"}))
    assert f"{tenant.bob.username} may call it" in page and "once it is approved" in page
    closed = _text(olga.get(f"{PATH}shop.buy/", {"user": tenant.bob.username}))
    assert "Nobody can call it at the moment." in closed and "switched off" in closed
    for query in ({"user": other_tenant.alice.username}, {"user": "nobody"}):
        assert "is no member of this tenant." in _text(olga.get(NOTE, query))
    assert "no agent" in _text(olga.get(NOTE, {"user": tenant.bob.username, "agent": "nobody"}))


@pytest.mark.parametrize("who", ["alice", "carol", "dana"])
def test_nobody_but_owners_sees_or_says_anything(tenant: Cast, olga: InProcess, who: str) -> None:
    browser = signed_in(getattr(tenant, who))
    before = len(recorded(tenant))
    for path in (PATH, f"{PATH}-/", f"{PATH}-/shop/", NOTE, f"{NOTE}?user={tenant.bob.username}"):
        assert browser.get(path).status_code == 403
    assert browser.post(NOTE, SAID | {"rate": "1/m"}).status_code == 403
    assert browser.post(f"{NOTE}grants/", {"tool": "*", "effect": "deny"}).status_code == 403
    assert (len(recorded(tenant)), _stored(tenant), _grants(tenant)) == (before, [], [])
