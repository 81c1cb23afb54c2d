"""Where one is logged in: listed for its user alone, and ended at once."""

from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from tenants.login import sessions
from tenants.models import UserSession
from tenants.scope import transactions
from tests.browser.sessions import session_of
from tests.database import rows
from tests.people import PASSWORD, Cast, Person, make_tenant

PAGE, REST = "/settings/sessions/", "/api/v1/sessions/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def _browser(person: Person, agent: str = FIREFOX, address: str = "192.0.2.1") -> Client:
    """A browser that is logged in, and was used once."""
    client = Client(REMOTE_ADDR=address, headers={"User-Agent": agent})
    client.cookies["sessionid"] = session_of(person)
    assert client.get(PAGE).status_code == 200
    return client


def _inside(client: Client) -> bool:
    return client.get(PAGE).status_code == 200


def _listed(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(REST).json()["results"]
    return found


def _of(person: Person) -> list[dict[str, Any]]:
    return rows("SELECT * FROM user_sessions WHERE user_id = %(u)s", u=person.principal.user_id)


def test_sessions_are_listed_with_device_address_and_last_use(tenant: Cast) -> None:
    here = _browser(tenant.alice)
    _browser(tenant.alice, "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari/604.1", "2001:db8::7")
    _browser(tenant.bob)
    page = here.get(PAGE).content.decode()
    assert page.index("Firefox on Linux") < page.index("this one") < page.index("Safari on iPhone or iPad")
    [other, this] = _listed(here)
    assert (this["device"], this["address"], this["current"]) == ("Firefox on Linux", "192.0.2.1", True)
    assert (other["address"], other["current"], other["last_used_at"] >= this["last_used_at"]) == (
        "2001:db8::7", False, True,
    )  # fmt: skip
    assert not any("session_key" in each for each in (this, other))
    assert here.cookies["sessionid"].value not in page


def test_what_is_ended_is_outside_at_its_next_request_and_the_rest_goes_on(tenant: Cast) -> None:
    here, there, elsewhere = (_browser(tenant.alice, address=f"192.0.2.{last}") for last in (1, 2, 3))
    theirs = _browser(tenant.bob)
    [ended] = [row["id"] for row in _of(tenant.alice) if row["address"] == "192.0.2.2"]
    assert here.post(f"{PAGE}{ended}/end/")["Location"] == PAGE
    assert [_inside(client) for client in (here, there, elsewhere, theirs)] == [True, False, True, True]
    assert there.get(REST).status_code == 401
    assert here.post(f"{PAGE}{ended}/end/").status_code == 404
    third, fourth = (_browser(tenant.alice, address=f"192.0.2.{last}") for last in (4, 5))
    [ended] = [each["id"] for each in _listed(here) if each["address"] == "192.0.2.4"]
    assert here.delete(f"{REST}{ended}/").status_code == 204
    assert [_inside(client) for client in (here, third, fourth)] == [True, False, True]
    assert here.post(f"{PAGE}end/")["Location"] == PAGE
    assert [_inside(client) for client in (here, elsewhere, fourth, theirs)] == [True, False, False, True]


def test_ending_ones_own_session_logs_out(tenant: Cast) -> None:
    here, there = _browser(tenant.alice), _browser(tenant.alice)
    [own] = [each["id"] for each in _listed(here) if each["current"]]
    assert here.post(f"{PAGE}{own}/end/")["Location"] == "/accounts/login/"
    assert (_inside(here), _inside(there)) == (False, True)
    [own] = [each["id"] for each in _listed(there)]
    assert there.delete(f"{REST}{own}/").status_code == 204
    assert not _inside(there)
    assert _of(tenant.alice) == []


def test_anothers_session_is_none_of_ones_own(tenant: Cast) -> None:
    mine, theirs = _browser(tenant.olga), _browser(tenant.alice)
    [row] = _of(tenant.alice)
    assert mine.post(f"{PAGE}{row['id']}/end/").status_code == 404
    assert mine.delete(f"{REST}{row['id']}/").status_code == 404
    assert mine.delete(REST).status_code == 204
    assert _inside(theirs)
    with transactions.scope(*tenant.olga.scope):
        assert UserSession.objects.filter(user_id=tenant.alice.principal.user_id).count() == 0
        sessions.end(UserSession(session_key="no session"))
    assert list(UserSession.objects.all()) == []


def test_a_key_ends_every_session_and_a_narrow_key_none(tenant: Cast) -> None:
    here = _browser(tenant.alice)
    answer = here.post("/api/v1/keys/", {"scopes": ["history:read"]}, content_type="application/json")
    narrow = Client(headers={"Authorization": f"Bearer {answer.json()['key']}"})
    assert [each["current"] for each in narrow.get(REST).json()["results"]] == [False]
    [row] = _of(tenant.alice)
    for refused in (narrow.delete(REST), narrow.delete(f"{REST}{row['id']}/")):
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert _inside(here)
    assert Client(headers=tenant.alice.headers).delete(REST).status_code == 204
    assert not _inside(here)


def test_a_changed_password_ends_the_others_and_keeps_this_one() -> None:
    person = make_tenant(PASSWORD).alice
    here, there = _browser(person), _browser(person)
    before = here.cookies["sessionid"].value
    form = {"old_password": PASSWORD, "new_password1": "another horse 4711", "new_password2": "another horse 4711"}
    assert here.post("/settings/password/", form).status_code == 302
    assert here.cookies["sessionid"].value != before
    assert (_inside(here), _inside(there)) == (True, False)
    assert [row["session_key"] for row in _of(person)] == [here.cookies["sessionid"].value]
    assert Session.objects.filter(session_key=there.cookies["sessionid"].value).count() == 0


@pytest.mark.parametrize("agent", ["", "x" * 5000, "<script>alert(1)</script>", "caf\u00e9 \u202e Firefox/1"])
def test_whatever_a_browser_calls_itself_is_text(tenant: Cast, agent: str) -> None:
    here = _browser(tenant.alice, agent)
    page = here.get(PAGE).content.decode()
    assert "<script>alert" not in page
    [row] = _of(tenant.alice)
    assert len(row["agent"]) <= 300 and row["agent"].isprintable()


def test_a_use_is_noted_once_a_minute_and_under_a_new_address_at_once(tenant: Cast) -> None:
    here = _browser(tenant.alice)
    [first] = _of(tenant.alice)
    assert _inside(here) and _of(tenant.alice) == [first]
    here.defaults["REMOTE_ADDR"] = "192.0.2.9"
    assert _inside(here)
    [moved] = _of(tenant.alice)
    assert (moved["address"], moved["id"]) == ("192.0.2.9", first["id"])
    sessions._noted.clear()
    assert _inside(here)
    [later] = _of(tenant.alice)
    assert later["last_used_at"] > moved["last_used_at"]


def test_logging_in_and_out_begins_and_ends_one() -> None:
    person = make_tenant(PASSWORD).alice
    client = Client(REMOTE_ADDR="192.0.2.80", headers={"User-Agent": FIREFOX})
    client.post("/accounts/login/", {"username": person.username, "password": PASSWORD})
    assert _inside(client)
    [row] = _of(person)
    assert (row["agent"], row["created_at"] <= row["last_used_at"]) == (FIREFOX, True)
    client.post("/accounts/logout/")
    assert _of(person) == []
