"""Two people who change the same setting at once: the second one is told, and nothing of theirs is saved."""

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connections

from services import changes as service_changes
from services.changes import NewService, Source
from tenants.people import changes
from tenants.people.changes import ChangedMeanwhile, Said, based_on, record, revision
from tenants.scope import transactions
from tests.agents.asking import ask, recorded, refusal
from tests.budgets.rows import make_budget
from tests.database import rows
from tests.pages.browsing import InProcess, confirmed, signed_in
from tests.people import PASSWORD, Cast, make_tenant

NOTE = "/api/v1/tool-settings/save_note/"
RULE = {"name": "a", "effect": "deny", "tool": "save_note"}
CONDITION = {
    "name": "office",
    "tool": "save_note",
    "condition": {"properties": {"context": {"properties": {"hour": {"minimum": 9}}, "required": ["hour"]}},
                  "required": ["context"]},
}  # fmt: skip
SIGN_ON = {"domain": "example.com", "issuer": "https://id.example.com", "client_id": "a", "client_secret": "s"}


def _service(tenant: Cast) -> str:
    offered = {"version": 2, "name": "shop", "description": "A shop"}
    tool = {"description": "What it does", "inputSchema": {"type": "object", "properties": {}}}
    tools = [tool | {"name": "buy", "http": {"method": "GET", "path": "/buy"}}]
    body = {"slug": "shop", "kind": "http", "url": "https://shop.example", "credential": {"type": "none"}}
    with transactions.scope(*tenant.olga.scope):
        service_changes.add(tenant.id, NewService.read(body), Source("http", json.dumps(offered | {"tools": tools})))
    return "/api/v1/services/shop/"


def _made(path: str, body: dict[str, Any]) -> Callable[[Cast], str]:
    def make(tenant: Cast) -> str:
        answer = ask(tenant.olga, "POST", path, body)
        assert answer.status_code == 201, answer.content
        return f"{path}{answer.json()['id']}/"

    return make


# What is changed: where it is, and two changes of it.
SETTINGS = {
    "tool": (lambda tenant: NOTE, {"rate": "5/m"}, {"rate": "6/m"}),
    "budget": (lambda tenant: f"/api/v1/budgets/{make_budget(tenant, 5)}/", {"limit": "6"}, {"limit": "7"}),
    "rule": (_made("/api/v1/approval-rules/", RULE), {"name": "b"}, {"name": "c"}),
    "condition": (_made("/api/v1/access-conditions/", CONDITION), {"name": "b"}, {"name": "c"}),
    "service": (_service, {"timeout": 5}, {"timeout": 6}),
    "sign-on": (_made("/api/v1/sign-on/", SIGN_ON), {"client_secret": "t"}, {"role_claim": "groups"}),
    "limits": (lambda tenant: "/api/v1/limits/", {"per_key": 5000}, {"per_person": 6000}),
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_who_sends_the_etag_of_what_somebody_has_changed_since_is_refused_and_shown_it(tenant: Cast, kind: str) -> None:
    make, first, second = SETTINGS[kind]
    path = make(tenant)
    seen = ask(tenant.olga, "GET", path).headers["ETag"]
    changed = ask(tenant.olga, "PATCH", path, first, **{"If-Match": seen})
    assert changed.status_code == 200, changed.content
    before = recorded(tenant)
    late = ask(tenant.olga, "PATCH", path, second, **{"If-Match": seen})
    assert refusal(late) == (412, "changed_meanwhile", None)
    for name in first.keys() - {"client_secret"}:
        assert str(late.json()["now"][name]).removesuffix(".0") == str(first[name])
    assert recorded(tenant) == before
    now = ask(tenant.olga, "GET", path)
    assert changed.headers["ETag"] == now.headers["ETag"] != seen
    # Who has looked again may; so may who does not care, and who says so.
    assert ask(tenant.olga, "PATCH", path, second, **{"If-Match": now.headers["ETag"]}).status_code == 200
    assert ask(tenant.olga, "PATCH", path, first).status_code == 200
    assert ask(tenant.olga, "PATCH", path, second, **{"If-Match": "*"}).status_code == 200
    if kind in ("rule", "limits"):
        return
    assert refusal(ask(tenant.olga, "DELETE", path, **{"If-Match": seen})) == (412, "changed_meanwhile", None)
    assert ask(tenant.olga, "GET", path).status_code == 200


@pytest.mark.parametrize("header", ['"3"', '"tool_setting-"', '"x-none"', "", "tool_setting-none", '"a", "b"', "W/"])
def test_an_etag_that_is_none_of_the_setting_lets_nothing_through(tenant: Cast, header: str) -> None:
    answer = ask(tenant.olga, "PUT", NOTE, {"enabled": False}, **{"If-Match": header})
    assert refusal(answer) == (412, "changed_meanwhile", None)
    assert recorded(tenant) == []


def test_what_both_a_service_and_its_tenant_say_of_a_tool_is_one_etag(tenant: Cast) -> None:
    _service(tenant)
    path = "/api/v1/tool-settings/shop.buy/"
    seen = ask(tenant.olga, "GET", path).headers["ETag"]
    assert ask(tenant.olga, "PATCH", "/api/v1/services/shop/tools/buy/", {"enabled": True}).status_code == 200
    late = ask(tenant.olga, "PUT", path, {"enabled": False, "rate": "5/m"}, **{"If-Match": seen})
    assert refusal(late) == (412, "changed_meanwhile", None)
    assert rows("SELECT 1 FROM tool_settings WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_of_several_first_words_on_a_tool_at_the_same_moment_one_is_kept_and_none_fails(tenant: Cast) -> None:
    seen = ask(tenant.olga, "GET", NOTE).headers["ETag"]
    together = Barrier(4)

    def say(number: int) -> int:
        together.wait()
        try:
            answer = ask(tenant.olga, "PATCH", NOTE, {"rate": f"{number + 1}/m"}, **{"If-Match": seen})
            return int(answer.status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(say, range(4))) == [200, 412, 412, 412]
    assert len(recorded(tenant)) == 1


def test_without_an_etag_the_first_words_on_a_tool_at_the_same_moment_are_all_taken(tenant: Cast) -> None:
    together = Barrier(4)

    def say(number: int) -> int:
        together.wait()
        try:
            return int(ask(tenant.olga, "PATCH", NOTE, {"rate": f"{number + 1}/m"}).status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(say, range(4))) == [200] * 4
    assert len(recorded(tenant)) == 4


# --- pages -----------------------------------------------------------------------------------------------------------
def _form(page: Any, action: str = "") -> str:
    """The revision in the form of a page that is sent to `action`."""
    text = page.content.decode()
    form = text[text.index(f'action="{action}"') :] if action else text
    [found] = re.findall(r'name="based_on" value="([^"]+)"', form)[:1]
    return str(found)


def _late(browser: InProcess, path: str, form: dict[str, str], *shown: str) -> None:
    answer = browser.post(path, form)
    text = " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())
    assert answer.status_code == 412, text
    assert "Somebody changed this meanwhile" in text and "Nothing of yours was saved" in text
    for words in shown:
        assert words in text, text


def test_a_tools_form_that_is_stale_is_answered_with_both(tenant: Cast) -> None:
    one, other, path = signed_in(tenant.olga), signed_in(tenant.olga), "/settings/tools/save_note/"
    form = {"enabled": "on", "tier": "", "rate": "", "approvals_needed": "1", "approval_expires": "86400"}
    seen = _form(one.get(path), path)
    assert other.post(path, form | {"rate": "7/m", "based_on": seen}).status_code == 302
    _late(one, path, form | {"rate": "9/m", "based_on": seen}, "As it is now", "Rate 7/m", "What you sent", "Rate 9/m")
    assert [each["rate"] for each in rows("SELECT rate FROM tool_settings WHERE tenant_id = %(t)s", t=tenant.id)] == [
        "7/m"
    ]
    assert one.post(path, form | {"rate": "9/m", "based_on": _form(one.get(path), path)}).status_code == 302


def test_a_stale_form_stays_stale_while_one_proves_who_one_is() -> None:
    tenant = make_tenant(PASSWORD)
    browser, path = signed_in(tenant.olga, seconds_ago=3600), "/settings/tools/save_note/"
    form = {"enabled": "on", "tier": "", "rate": "", "approvals_needed": "1", "approval_expires": "86400"}
    assert ask(tenant.olga, "PATCH", NOTE, {"enabled": False}).status_code == 200
    seen = _form(browser.get(path), path)
    asked = browser.post(path, form | {"based_on": seen})
    assert asked.status_code == 403
    assert ask(tenant.olga, "PATCH", NOTE, {"rate": "3/m"}).status_code == 200
    assert confirmed(browser, asked, path).status_code == 412
    assert ask(tenant.olga, "GET", NOTE).json()["enabled"] is False


def test_budgets_services_tools_hosts_limits_and_sign_on_are_no_different_on_their_pages(tenant: Cast) -> None:
    one = signed_in(tenant.olga)
    _service(tenant)
    provider = _made("/api/v1/sign-on/", SIGN_ON)(tenant).rstrip("/").rpartition("/")[2]
    budget = f"/settings/spend/budgets/{make_budget(tenant, 5)}/"
    limits = ask(tenant.olga, "PATCH", "/api/v1/limits/", {"per_key": 5000})
    assert limits.status_code == 200
    service, tool = "/settings/services/shop/settings/", "/settings/services/shop/tools/buy/"
    sign_on = f"/settings/sign-on/{provider}/"
    seen = {
        budget: _form(one.get("/settings/spend/"), budget),
        service: _form(one.get(service)),
        tool: _form(one.get(tool)),
        "/settings/safety/limits/": _form(one.get("/settings/safety/"), "/settings/safety/limits/"),
        sign_on: _form(one.get(sign_on), sign_on),
    }
    for path, body in (
        (budget.replace("/settings/spend", "/api/v1"), {"limit": "6"}),
        ("/api/v1/services/shop/", {"timeout": 7}),
        ("/api/v1/services/shop/tools/buy/", {"idempotent": True}),
        ("/api/v1/limits/", {"per_key": 4000}),
        (f"/api/v1/sign-on/{provider}/", {"client_secret": "other"}),
    ):
        answer = ask(tenant.olga, "PATCH", path, body)
        assert answer.status_code == 200, (path, answer.content)
    before = recorded(tenant)
    named = {path: {"based_on": revision} for path, revision in seen.items()}
    _late(one, budget, named[budget] | {"limit": "9"}, "Limit 6", "Limit 9")
    end = f"{budget}end/"
    _late(one, end, named[budget])
    form = {"url": "https://shop.example", "timeout": "9", "credential": "keep", "enabled": "on"}
    _late(one, service, named[service] | form, "shop is not what your form showed", "Timeout 7.0", "Timeout 9")
    given = {"credential": "header", "header.name": "X-Key", "header.value": "hush-1", "bearer.token": "hush-2"}
    answer = one.post(service, named[service] | form | given)
    assert (answer.status_code, b"hush" in answer.content) == (412, False)
    _late(one, tool, named[tool] | {"tier": "elevated", "confirmed": "1"}, "Idempotent yes", "Tier elevated")
    path = "/settings/safety/limits/"
    _late(one, path, named[path] | {"per_key": "1000"}, "Per key 4000", "Per key 1000")
    form = {name: SIGN_ON[name] for name in ("issuer", "client_id")} | {"default_role": "member"}
    _late(one, sign_on, named[sign_on] | form | {"role_claim": "teams"}, "Role claim teams")
    assert recorded(tenant) == before


def test_hosts_that_somebody_has_added_are_not_taken_away_by_an_older_form(tenant: Cast) -> None:
    one, other, page = signed_in(tenant.olga), signed_in(tenant.olga), "/settings/tools/web_fetch/"
    [path] = re.findall(r'action="(/settings/tools/[^"]*hosts[^"]*)"', one.get(page).content.decode())
    seen = _form(one.get(page), path)
    assert other.post(path, {"fetch_hosts": "a.example.com", "based_on": seen}).status_code == 302
    _late(one, path, {"fetch_hosts": "b.example.com", "based_on": seen}, "a.example.com", "b.example.com")
    stored = rows("SELECT fetch_hosts FROM tenants WHERE id = %(t)s", t=tenant.id)
    assert [each["fetch_hosts"] for each in stored] == [["a.example.com"]]


# --- the mechanism ---------------------------------------------------------------------------------------------------


def _said(tenant: Cast, secret: str = "", **values: Any) -> Said:
    return Said(tenant.id, "thing", None, "", values, {"secret": secret})


def test_a_revision_is_of_the_values_and_of_the_secrets_and_shows_neither(tenant: Cast) -> None:
    one = revision(thing=_said(tenant, "hush", a=1))
    assert one == revision(thing=_said(tenant, "hush", a=1))
    others = {revision(thing=each) for each in (_said(tenant, "hush", a=2), _said(tenant, "shh", a=1), None)}
    assert len(others) == 3 and one not in others
    assert "hush" not in one


def test_what_is_recorded_second_is_not_held_to_what_only_the_first_is_based_on(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_writers", [lambda made: None])
    one, two = _said(tenant, a=1), _said(tenant, a=2)
    with based_on(revision(thing=one)):
        record(one, two)
        record(two, one)
    with based_on(revision(thing=one)), pytest.raises(ChangedMeanwhile):
        record(two, one)
    # Also where nothing differs by then: what it is based on is gone all the same.
    with based_on(revision(thing=one)), pytest.raises(ChangedMeanwhile):
        record(two, two)
