"""What raises rights asks again for the password, or a code, and goes on with what was sent."""

import re
import time
from typing import Any

import pytest
from allauth.mfa.totp.internal import auth as totp
from django.core.cache import cache
from django.test import Client, override_settings
from redis.exceptions import ConnectionError as RedisAway

from tenants.login.second_factor import factors
from tenants.models import User
from tenants.scope import transactions
from tests.browser.sessions import session_of
from tests.database import rows
from tests.pages.browsing import confirmed, signed_in
from tests.people import PASSWORD, Cast, Person, make_tenant

KEYS = "/settings/keys/"
ASKED = "Confirm that it is you"
LONG_AGO = 3600


@pytest.fixture
def _patient() -> Any:
    """Windows that no slow machine lets end within a test."""
    with override_settings(LOGIN_ATTEMPTS="100/d", SECOND_FACTOR_ATTEMPTS=("50/d",)):
        yield


pytestmark = pytest.mark.usefixtures("_patient")


def _keys(person: Person) -> list[dict[str, Any]]:
    return rows("SELECT * FROM api_keys WHERE user_id = %(u)s ORDER BY created_at", u=person.principal.user_id)


def _asked(answer: Any) -> bool:
    return answer.status_code == 403 and ASKED in answer.content.decode()


def test_an_owners_key_is_made_once_the_password_is_given_with_what_was_entered_before() -> None:
    owner = make_tenant(PASSWORD).olga
    client = signed_in(owner, seconds_ago=LONG_AGO)
    asked = client.post(KEYS, {"name": "deploy & co", "scopes": ["admin", "chat"], "days": "30"})
    assert _asked(asked) and "no-store" in asked["Cache-Control"]
    assert "deploy" not in asked.content.decode() and len(_keys(owner)) == 1
    wrong = confirmed(client, asked, KEYS, reauthentication_password="wrong")
    assert _asked(wrong) and "This is not your password." in wrong.content.decode() and len(_keys(owner)) == 1
    before = client.cookies["sessionid"].value
    made = confirmed(client, wrong, KEYS)
    assert (made.status_code, len(re.findall(">tg_[^<]+</pre>", made.content.decode()))) == (200, 1)
    key = _keys(owner)[-1]
    assert (key["name"], sorted(key["scopes"]), key["expires_at"] is None) == ("deploy & co", ["admin", "chat"], False)
    assert client.cookies["sessionid"].value != before
    # It holds for a while.
    assert client.post(KEYS, {"scopes": ["admin"]}).status_code == 200


def test_keys_that_change_no_settings_and_revoking_ask_nobody() -> None:
    tenant = make_tenant(PASSWORD)
    member, owner = (signed_in(person, seconds_ago=LONG_AGO) for person in (tenant.alice, tenant.olga))
    assert member.post(KEYS, {}).status_code == 200
    assert owner.post(KEYS, {"scopes": ["chat"]}).status_code == 200
    [first, narrow] = _keys(tenant.olga)
    assert _asked(owner.post(f"{KEYS}{first['id']}/rotate/", {"overlap": "0"}))
    assert owner.post(f"{KEYS}{narrow['id']}/rotate/", {"overlap": "0"}).status_code == 200
    assert owner.post(f"{KEYS}{first['id']}/revoke/").status_code == 302


def test_rest_says_so_and_keys_with_admin_need_none() -> None:
    owner = make_tenant(PASSWORD).olga
    browser = Client()
    browser.cookies["sessionid"] = session_of(owner, seconds_ago=LONG_AGO)
    for body in ({"scopes": ["admin"]}, {}):
        refused = browser.post("/api/v1/keys/", body, content_type="application/json")
        assert (refused.status_code, refused.json()["code"]) == (403, "reauthentication_required")
        assert "/accounts/confirm/" in refused.json()["detail"]
    body = {"second_factor_required": True}
    assert browser.patch("/api/v1/tenant/", body, content_type="application/json").status_code == 403
    assert (len(_keys(owner)), _required(owner)) == (1, False)
    by_key = Client(headers=owner.headers)
    assert by_key.post("/api/v1/keys/", {"scopes": ["admin"]}, content_type="application/json").status_code == 201
    # A key beside a fresh session is a key, and one without the scope is none that changes settings.
    browser.cookies["sessionid"] = session_of(owner)
    assert browser.post("/api/v1/keys/", {}, content_type="application/json").status_code == 201


def _required(person: Person) -> bool:
    found = rows("SELECT second_factor_required AS it FROM tenants WHERE id = %(t)s", t=person.principal.tenant_id)
    return bool(found[0]["it"])


@pytest.mark.parametrize("at", [None, "1", 1e400, -600, LONG_AGO * -1])
def test_what_the_session_says_senselessly_is_no_proof(at: Any) -> None:
    owner = make_tenant(PASSWORD).olga
    client = signed_in(owner)
    session = client.session
    session["authenticated_at"] = int(time.time()) - at if isinstance(at, int) else str(at)
    session.save()
    assert _asked(client.post(KEYS, {}))
    assert len(_keys(owner)) == 1


def _with_code(person: Person) -> str:
    """The secret of a second factor that a person has now; no code of it is spent yet."""
    secret = factors.new_secret()
    with transactions.of_user(person.principal.user_id):
        user = User(pk=person.principal.user_id, username=person.username)
        earlier = totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30 - 1))
        assert factors.enable(user, secret, str(earlier)) is not None
    return secret


def test_a_code_is_as_good_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # All of it within one period of the codes, whenever it begins and however long it takes.
    now = time.time()
    monkeypatch.setattr(totp.time, "time", lambda: now)
    owner = make_tenant(PASSWORD).olga
    secret = _with_code(owner)
    code = str(totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30)))
    client, other = (signed_in(owner, seconds_ago=LONG_AGO) for _ in range(2))
    asked = client.post(KEYS, {"name": "one"})
    assert _asked(confirmed(client, asked, KEYS, reauthentication_code="000000"))
    assert confirmed(client, asked, KEYS, reauthentication_code=code).status_code == 200
    again = other.post(KEYS, {"name": "two"})
    assert _asked(confirmed(other, again, KEYS, reauthentication_code=code))
    assert [key["name"] for key in _keys(owner)] == ["", "one"]


def test_what_is_held_is_good_for_its_user_and_its_page_alone() -> None:
    tenant = make_tenant(PASSWORD)
    mine, theirs = (signed_in(person, seconds_ago=LONG_AGO) for person in (tenant.olga, make_tenant(PASSWORD).olga))
    asked = theirs.post(KEYS, {"name": "theirs"})
    # The password is right, so it counts; what somebody else entered, or for another page, is not done.
    assert confirmed(mine, asked, KEYS)["Location"] == KEYS
    mine = signed_in(tenant.olga, seconds_ago=LONG_AGO)
    asked = mine.post(KEYS, {"name": "mine"})
    assert confirmed(mine, asked, "/settings/password/")["Location"] == "/settings/password/"
    for senseless in ("", "x", "gAAAAA"):
        form = {"reauthentication_form": senseless, "reauthentication_password": PASSWORD}
        assert mine.post(KEYS, form)["Location"] == KEYS
    assert len(_keys(tenant.olga)) == 1


def test_attempts_are_counted_and_never_uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = make_tenant(PASSWORD).olga
    client = signed_in(owner, seconds_ago=LONG_AGO)
    asked = client.post(KEYS, {})
    with override_settings(LOGIN_ATTEMPTS="2/d"):
        for _ in range(2):
            client.defaults["REMOTE_ADDR"] = "192.0.2.77"
            assert _asked(confirmed(client, asked, KEYS, reauthentication_password="wrong"))
        client.defaults["REMOTE_ADDR"] = "192.0.2.78"
        refused = confirmed(client, asked, KEYS)
        assert (refused.status_code, int(refused["Retry-After"]) > 0) == (429, True)

    def away(*args: object, **kwargs: object) -> None:
        raise RedisAway("away")

    monkeypatch.setattr(cache, "add", away)
    assert confirmed(client, asked, KEYS).status_code == 503
    monkeypatch.undo()
    assert len(_keys(owner)) == 1


def test_the_page_of_its_own_goes_where_it_was_asked_from_on_this_site_only(tenant: Cast) -> None:
    fresh = signed_in(tenant.olga)
    assert fresh.get("/accounts/confirm/?next=/settings/keys/")["Location"] == KEYS
    assert fresh.get("/accounts/confirm/?next=https://elsewhere.example/")["Location"] == "/settings/"
    late = signed_in(tenant.olga, seconds_ago=LONG_AGO)
    assert _asked(late.get("/accounts/confirm/"))
    assert late.post(KEYS, {}, headers={"HX-Request": "true"})["HX-Redirect"] == "/accounts/confirm/"
    assert Client().get("/accounts/confirm/")["Location"].startswith("/accounts/login/")


def test_the_log_in_page_proves_it() -> None:
    owner = make_tenant(PASSWORD).olga
    client = Client(REMOTE_ADDR="192.0.2.79")
    client.post("/accounts/login/", {"username": owner.username, "password": PASSWORD})
    assert client.post(KEYS, {"scopes": ["admin"]}).status_code == 200
    assert len(_keys(owner)) == 2


@pytest.mark.parametrize("following", ["0", "settings", "null", "cD0="])
def test_a_word_to_go_on_to_is_a_place_and_never_the_name_of_a_view(tenant: Cast, following: str) -> None:
    browser = signed_in(tenant.olga)
    assert browser.get("/accounts/confirm/", {"next": following})["Location"] == following
    sent = {"tenant": str(tenant.id), "next": following}
    assert browser.post("/accounts/tenant/", sent)["Location"] == following
