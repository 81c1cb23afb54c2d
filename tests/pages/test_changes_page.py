"""`/settings/changes/`: who changed what, in words."""

import html
import re
from typing import Any

from django.db import transaction

from audit.history.change_words import KINDS
from tenants.people import changes
from tenants.people.changes import Said
from tenants.scope.routing import on_login
from tests.members.test_members_api import ask, of
from tests.pages.browsing import signed_in
from tests.people import Cast, Person
from tests.stack import ROOT

PAGE = "/settings/changes/"


def text(person: Person, query: str = "") -> str:
    answer = signed_in(person).get(PAGE + query)
    assert answer.status_code == 200
    whole = re.sub(r"<[^>]+>", " ", answer.content.decode().partition("<main")[2])
    return " ".join(html.unescape(whole).split())


def record(tenant: Cast, count: int = 1, **values: Any) -> None:
    with on_login("operator"), transaction.atomic(using="operator"), changes.acting(None, "command"):
        for number in range(count):
            said = Said(tenant.id, "thing", None, f"thing-{number}", values)
            changes.record(None, said)


def test_every_kind_of_setting_can_be_chosen_and_has_a_name() -> None:
    packages = ("approvals", "audit", "gateway", "notifications", "services", "tenants", "tools")
    sources = (path.read_text() for package in packages for path in (ROOT / package).rglob("*.py"))
    recorded = {name for text in sources for name in re.findall(r'\btarget="([a-z_]+)"', text)}
    assert {"budget", "kill_switch", "member"} <= recorded
    assert recorded - set(KINDS) == set()


def test_a_budget_is_said_to_be_whose_it_is(tenant: Cast) -> None:
    with on_login("operator"), transaction.atomic(using="operator"), changes.acting(None, "command"):
        for name, scope in (("a", {"tenant": str(tenant.id)}), ("b", {"user": str(tenant.alice.scope.user_id)})):
            changes.record(None, Said(tenant.id, "budget", None, name, {"scope": scope}))
    page = text(tenant.olga)
    assert "scope the whole tenant" in page
    assert f"scope {tenant.alice.username}" in page


def test_auditors_and_owners_read_who_changed_what_in_words(tenant: Cast) -> None:
    assert ask(tenant.olga, "PATCH", of(tenant.alice), {"role": "approver"}).status_code == 200
    for person in (tenant.dana, tenant.olga):
        page = text(person)
        assert f"Member {tenant.alice.username} changed by {tenant.olga.username} over the API" in page
        assert "role member → is now approver" in page
        assert "entry not sealed yet" in page or "of the log" in page
    for person in (tenant.alice, tenant.carol):
        answer = signed_in(person).get(PAGE)
        assert (answer.status_code, "Only auditors and owners" in answer.content.decode()) == (403, True)


def test_people_are_named_and_those_who_left_are_not(tenant: Cast) -> None:
    made = ask(tenant.alice, "POST", "/api/v1/keys/", {"name": "a"})
    assert made.status_code == 201
    assert f"person {tenant.alice.username}" in text(tenant.olga)
    assert ask(tenant.olga, "DELETE", of(tenant.alice)).status_code == 204
    page = text(tenant.olga)
    assert "Member a former member deleted" in page
    assert tenant.alice.username not in page


def test_filters_are_in_the_address_and_a_senseless_one_filters_nothing(tenant: Cast) -> None:
    record(tenant)
    assert ask(tenant.olga, "PATCH", of(tenant.alice), {"role": "approver"}).status_code == 200
    assert "Thing thing-0" not in text(tenant.olga, "?target=member")
    assert "Thing thing-0 created" in text(tenant.olga, "?name=thing-0")
    assert "Nothing matches" in text(tenant.olga, "?since=2100-01-01")
    assert "Nothing matches" in text(tenant.olga, "?until=2000-01-01")
    assert "thing-0" not in text(tenant.olga, f"?by={tenant.olga.username}")
    assert "Thing thing-0" in text(tenant.olga, "?since=never&before=nothing")


def test_pages_follow_each_other_with_their_filters(tenant: Cast) -> None:
    record(tenant, 35)
    browser = signed_in(tenant.olga)
    first = browser.get(f"{PAGE}?target=thing").content.decode()
    [more] = re.findall(r'href="[^"]*\?([^"]*before=[^"]*)"', first)
    assert "target=thing" in more
    second = browser.get(f"{PAGE}?{html.unescape(more)}").content.decode()
    shown = [re.findall(r'<span class="mono">(thing-\d+)', page) for page in (first, second)]
    assert [len(names) for names in shown] == [30, 5]
    assert len({*shown[0], *shown[1]}) == 35


def test_what_was_recorded_is_shown_as_text_however_odd(tenant: Cast) -> None:
    record(tenant, text="<script>alert(1)</script>", bidi="a\u202eb", long="x" * 4000, list=[1, {"a": None}], no=False)
    page = signed_in(tenant.olga).get(PAGE).content.decode()
    assert "<script>alert" not in page and "\u202e" not in page
    assert "(4,000 characters)" in page
    assert "no" in page


def test_another_tenants_changes_are_not_there(tenant: Cast, other_tenant: Cast) -> None:
    record(other_tenant)
    assert "Nothing was changed" in text(tenant.olga)
