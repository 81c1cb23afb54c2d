"""What a tenant says of calls that would reach outside after private data and strangers' words were read."""

from typing import Any

import pytest

from tests.agents.asking import ask, recorded
from tests.database import rows
from tests.pages.browsing import confirmed, signed_in
from tests.people import PASSWORD, Cast, make_tenant

SETTING = "/api/v1/tenant/"
PAGE = "/settings/safety/"
FORM = f"{PAGE}taint/"


def stored(tenant: Cast) -> str:
    """The setting as the gate reads it."""
    [row] = rows("SELECT taint FROM tenants WHERE id = %(t)s", t=tenant.id)
    return str(row["taint"])


def test_owners_say_over_rest_what_becomes_of_such_calls_and_it_is_on_record(tenant: Cast) -> None:
    assert ask(tenant.alice, "GET", SETTING).json()["taint"] == "ask"
    assert ask(tenant.olga, "PATCH", SETTING, {"taint": "deny"}).json()["taint"] == "deny"
    wrong: list[Any] = ["", "DENY", "never", None, 1, [], {"deny": True}]
    for value in wrong:
        refused = ask(tenant.olga, "PATCH", SETTING, {"taint": value})
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request"), value
    for person in (tenant.alice, tenant.carol, tenant.dana):
        assert ask(person, "PATCH", SETTING, {"taint": "off"}).status_code == 403
    assert stored(tenant) == "deny"
    assert recorded(tenant) == [("tenant", tenant.slug, "changed", {"taint": ["ask", "deny"]})]


def test_owners_choose_on_the_page_and_prove_who_they_are_before_it_is_less_strict() -> None:
    tenant = make_tenant(PASSWORD)
    olga = signed_in(tenant.olga, seconds_ago=3600)
    assert 'value="ask" checked' in olga.get(PAGE).content.decode()
    page = olga.post(FORM, {"taint": "deny"}, follow=True).content.decode()
    assert "Deny: it holds from the next call on." in page
    assert 'value="deny" checked' in page
    asked = olga.post(FORM, {"taint": "observe"})
    assert asked.status_code == 403 and "Confirm that it is you" in asked.content.decode()
    assert stored(tenant) == "deny"
    assert confirmed(olga, asked, FORM).headers["Location"] == PAGE
    assert stored(tenant) == "observe"
    assert "Nothing was changed: choose one of the four." in olga.post(FORM, {}, follow=True).content.decode()
    assert stored(tenant) == "observe"


@pytest.mark.parametrize("who", ["alice", "carol", "dana"])
def test_nobody_else_changes_it(tenant: Cast, who: str) -> None:
    client = signed_in(getattr(tenant, who))
    assert client.post(FORM, {"taint": "off"}).status_code == 403
    assert stored(tenant) == "ask"


def test_who_may_only_look_sees_what_is_chosen(tenant: Cast) -> None:
    page = signed_in(tenant.dana).get(PAGE).content.decode()
    assert 'value="ask" checked disabled' in page
    assert "An owner of your tenant can change it." in page
