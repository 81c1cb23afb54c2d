"""The second factor: set up on the page, asked for at the log-in, each code good once."""

import re
import threading
import time
from typing import Any
from urllib.parse import urlencode

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client, override_settings
from redis.exceptions import ConnectionError as RedisAway

from tenants.models import Membership
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.approvals.admin import operator
from tests.database import rows
from tests.mcp.oauth import BACK, registered
from tests.pages.browsing import signed_in
from tests.people import PASSWORD, Person, make_tenant
from tests.stack import somewhere_else

PAGE, STEP = "/settings/second-factor/", "/accounts/second-factor/"
pytestmark = pytest.mark.usefixtures("_patient")


@pytest.fixture
def _patient() -> Any:
    """Windows that no slow machine lets end within a test."""
    with override_settings(LOGIN_ATTEMPTS="100/d", SECOND_FACTOR_ATTEMPTS=("50/d",)):
        yield


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the clock of the codes to a number of their periods from now."""
    began = time.time()

    def set_to(periods: int) -> None:
        monkeypatch.setattr(totp.time, "time", lambda: began + 30 * periods)

    set_to(0)
    return set_to


def _code(secret: str) -> str:
    return str(totp.format_hotp_value(totp.hotp_value(secret, int(totp.time.time()) // 30)))


def _set_up(person: Person) -> tuple[str, list[str]]:
    """The secret and the recovery codes of a person who has just switched it on."""
    client = signed_in(person)
    [secret] = re.findall(r'class="mono secret">([A-Z2-7]+)<', client.get(PAGE).content.decode())
    answer = client.post(PAGE, {"code": _code(secret), "password": PASSWORD})
    assert answer.status_code == 200, answer.content.decode()
    [shown] = re.findall(r'<pre class="sheet" tabindex="0">([^<]+)</pre>', answer.content.decode())
    return secret, shown.split()


def _password_given(person: Person, **form: str) -> Client:
    client = Client(REMOTE_ADDR=somewhere_else()["X-Forwarded-For"])
    given = {"username": person.username, "password": PASSWORD, **form}
    answer = client.post("/accounts/login/", given)
    assert (answer.status_code, answer["Location"]) == (302, STEP)
    return client


def _inside(client: Client) -> bool:
    return bool(client.get(PAGE).status_code == 200)


def _authenticators(person: Person) -> list[dict[str, Any]]:
    return rows("SELECT * FROM mfa_authenticator WHERE user_id = %(u)s", u=person.principal.user_id)


def test_a_password_alone_logs_nobody_in_who_has_a_second_factor(at: Any) -> None:
    person = make_tenant(PASSWORD).alice
    secret, _ = _set_up(person)
    at(1)
    client = _password_given(person, next="/history/")
    assert not _inside(client)
    assert client.get("/api/v1/tools/").status_code in (401, 403)
    wrong = client.post(STEP, {"code": "000000"})
    assert (wrong.status_code, "This code is wrong" in wrong.content.decode(), _inside(client)) == (200, True, False)
    before = client.cookies["sessionid"].value
    right = client.post(STEP, {"code": _code(secret)[:3] + " " + _code(secret)[3:]})
    assert (right.status_code, right["Location"]) == (302, "/history/")
    assert _inside(client) and client.cookies["sessionid"].value != before


def test_a_code_works_once_also_while_it_is_still_the_present_one(at: Any) -> None:
    person = make_tenant(PASSWORD).alice
    secret, _ = _set_up(person)
    # The code that switched it on is spent, and so is every one before a code that was used.
    assert not _logs_in(person, _code(secret))
    earlier = _code(secret)
    at(1)
    code = _code(secret)
    assert _logs_in(person, code)
    assert not _logs_in(person, code) and not _logs_in(person, earlier)
    at(2)
    assert not _logs_in(person, code)
    assert _logs_in(person, _code(secret))


def _logs_in(person: Person, code: str) -> bool:
    client = _password_given(person)
    client.post(STEP, {"code": code})
    return _inside(client)


def test_of_two_who_use_one_code_at_once_one_gets_in(at: Any) -> None:
    person = make_tenant(PASSWORD).alice
    secret, recovery = _set_up(person)
    at(1)
    for code in (_code(secret), recovery[0]):
        browsers, begun, inside = [_password_given(person) for _ in range(2)], threading.Barrier(2), []

        def enter(client: Client, code: str = code, begun: Any = begun, inside: Any = inside) -> None:
            begun.wait()
            try:
                inside.append(client.post(STEP, {"code": code}).status_code == 302)
            finally:
                connections.close_all()

        threads = [threading.Thread(target=enter, args=(client,)) for client in browsers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(inside) == [False, True]


def test_a_recovery_code_works_once_and_new_ones_end_the_old(at: Any) -> None:
    person = make_tenant(PASSWORD).alice
    secret, codes = _set_up(person)
    assert len(set(codes)) == 10
    assert _logs_in(person, codes[0]) and not _logs_in(person, codes[0])
    client = signed_in(person)
    assert "9 recovery codes left" in client.get(PAGE).content.decode()
    assert client.post(f"{PAGE}codes/", {"code": codes[1], "password": "wrong"}).status_code == 400
    at(1)
    answer = client.post(f"{PAGE}codes/", {"code": _code(secret), "password": PASSWORD})
    [shown] = re.findall(r'<pre class="sheet" tabindex="0">([^<]+)</pre>', answer.content.decode())
    assert not set(shown.split()) & set(codes)
    assert not _logs_in(person, codes[1]) and _logs_in(person, shown.split()[0])


def test_switching_it_off_wants_password_and_code(at: Any) -> None:
    person = make_tenant(PASSWORD).alice
    secret, _ = _set_up(person)
    at(1)
    client = signed_in(person)
    for form in ({"code": _code(secret), "password": "wrong"}, {"code": "1", "password": PASSWORD}, {}):
        assert client.post(f"{PAGE}off/", form).status_code == 400
    assert len(_authenticators(person)) == 2
    assert client.post(f"{PAGE}off/", {"code": _code(secret), "password": PASSWORD}).status_code == 302
    assert _authenticators(person) == []
    answer = Client(REMOTE_ADDR="192.0.2.161").post(
        "/accounts/login/", {"username": person.username, "password": PASSWORD}
    )
    assert answer["Location"] == "/"


@pytest.mark.parametrize("form", [{"code": "000000", "password": PASSWORD}, {"password": PASSWORD}, {"code": "x" * 51}])
def test_without_a_right_code_nothing_is_switched_on(form: dict[str, str]) -> None:
    person = make_tenant(PASSWORD).alice
    client = signed_in(person)
    assert client.post(PAGE, form)["Location"] == PAGE
    client.get(PAGE)
    assert client.post(PAGE, form).status_code == 400
    assert _authenticators(person) == []


def test_a_right_code_with_a_wrong_password_switches_nothing_on(at: Any) -> None:
    person = make_tenant(PASSWORD).alice
    client = signed_in(person)
    [secret] = re.findall(r'class="mono secret">([A-Z2-7]+)<', client.get(PAGE).content.decode())
    assert client.post(PAGE, {"code": _code(secret), "password": "wrong"}).status_code == 400
    assert _authenticators(person) == []


def test_codes_are_tried_no_more_often_than_allowed_and_never_uncounted(
    at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = make_tenant(PASSWORD).alice
    secret, _ = _set_up(person)
    at(1)
    with override_settings(SECOND_FACTOR_ATTEMPTS=("3/d",)):
        assert [_password_given(person).post(STEP, {"code": "000000"}).status_code for _ in range(3)] == [200] * 3
        client = _password_given(person)
        refused = client.post(STEP, {"code": _code(secret)})
        assert (refused.status_code, int(refused["Retry-After"]) > 0, _inside(client)) == (429, True, False)
    client = _password_given(person)

    def away(*args: object, **kwargs: object) -> None:
        raise RedisAway("away")

    monkeypatch.setattr(cache, "add", away)
    assert client.post(STEP, {"code": _code(secret)}).status_code == 503
    monkeypatch.undo()
    assert not _inside(client)


def test_the_step_ends_after_five_minutes_and_with_a_changed_password(at: Any) -> None:
    person = make_tenant(PASSWORD).alice
    secret, _ = _set_up(person)
    at(1)
    late, changed = _password_given(person), _password_given(person)
    session = late.session
    session["second_factor_pending"] = session["second_factor_pending"] | {"until": time.time() - 1}
    session.save()
    rows("UPDATE users SET password = 'x' WHERE id = %(u)s RETURNING id", u=person.principal.user_id)
    for client in (late, changed, Client()):
        answer = client.post(STEP, {"code": _code(secret)})
        assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/")
        assert not _inside(client)


def test_a_form_of_another_site_uses_no_code_up(at: Any) -> None:
    person = make_tenant(PASSWORD).alice
    _, codes = _set_up(person)
    client = Client(enforce_csrf_checks=True)
    client.cookies = _password_given(person).cookies
    assert client.post(STEP, {"code": codes[0]}).status_code == 403
    assert _logs_in(person, codes[0])


def test_secrets_are_stored_encrypted_and_seen_by_their_user_alone(at: Any) -> None:
    tenant = make_tenant(PASSWORD)
    secret, codes = _set_up(tenant.alice)
    stored = str(
        rows("SELECT a::text AS a FROM mfa_authenticator a WHERE user_id = %(u)s", u=tenant.alice.principal.user_id)
    )
    assert secret not in stored and not any(code in stored for code in codes)
    assert list(Authenticator.objects.all()) == []
    for person, seen in ((tenant.alice, 2), (tenant.bob, 0), (tenant.olga, 0)):
        with transactions.scope(*person.scope):
            assert Authenticator.objects.count() == seen
        with transactions.of_user(person.principal.user_id):
            assert Authenticator.objects.count() == seen


def test_what_no_key_decrypts_lets_nobody_in(at: Any) -> None:
    person = make_tenant(PASSWORD).alice
    secret, codes = _set_up(person)
    at(1)
    with override_settings(TOOLGATE_ENCRYPTION_KEYS=["ab" * 32]):
        client = _password_given(person)
        answer = client.post(STEP, {"code": _code(secret)})
        assert (answer.status_code, "Ask the operator to remove it" in answer.content.decode()) == (200, True)
        assert client.post(STEP, {"code": codes[0]}).status_code != 302
        assert signed_in(person).get(PAGE).status_code == 200
        assert not _inside(client)


def test_the_operator_removes_a_second_factor(at: Any, capsys: pytest.CaptureFixture[str]) -> None:
    person = make_tenant(PASSWORD).alice
    _set_up(person)
    call_command("remove_second_factor", person.username)
    assert _authenticators(person) == []
    for name in (person.username, "nobody-at-all"):
        with pytest.raises(CommandError):
            call_command("remove_second_factor", name)
    with on_login("operator"):
        assert not Authenticator.objects.filter(user_id=person.principal.user_id).exists()


def _requiring() -> Any:
    """A tenant whose owner has just asked for second factors."""
    tenant = make_tenant(PASSWORD)
    key = Client(headers=tenant.olga.headers)
    answer = key.patch("/api/v1/tenant/", {"second_factor_required": True}, content_type="application/json")
    assert (answer.status_code, answer.json()["second_factor_required"]) == (200, True)
    return tenant


def test_a_tenant_that_asks_for_it_opens_to_nobody_without_and_keys_go_on(at: Any) -> None:
    tenant = _requiring()
    client = signed_in(tenant.alice)
    for path in ("/", "/history/", "/settings/keys/", "/settings/password/", "/settings/applications/"):
        assert client.get(path)["Location"] == PAGE, path
    refused = client.get("/api/v1/tools/?style=mcp")
    assert (refused.status_code, refused.json()["code"]) == (403, "second_factor_required")
    assert Client(headers=tenant.alice.headers).get("/api/v1/tools/").status_code == 200
    [secret] = re.findall(r'class="mono secret">([A-Z2-7]+)<', client.get(PAGE).content.decode())
    assert client.post(PAGE, {"code": _code(secret), "password": PASSWORD}).status_code == 200
    assert client.get("/history/").status_code == 200
    # Another session of theirs gives a code, here or by logging in anew.
    at(1)
    other = signed_in(tenant.alice)
    assert other.get("/history/")["Location"] == PAGE
    assert other.post(f"{PAGE}session/", {"code": "000000", "password": PASSWORD}).status_code == 400
    assert other.get("/history/")["Location"] == PAGE
    assert other.post(f"{PAGE}session/", {"code": _code(secret), "password": PASSWORD})["Location"] == "/"
    assert other.get("/history/").status_code == 200
    at(2)
    anew = _password_given(tenant.alice)
    anew.post(STEP, {"code": _code(secret)})
    assert anew.get("/history/").status_code == 200
    # Whoever switches it off is outside again.
    at(3)
    assert anew.post(f"{PAGE}off/", {"code": _code(secret), "password": PASSWORD})["Location"] == PAGE
    assert anew.get("/history/")["Location"] == PAGE


def test_only_owners_ask_for_it(at: Any) -> None:
    tenant = make_tenant(PASSWORD)
    for person in (tenant.alice, tenant.carol, tenant.dana):
        body = {"second_factor_required": True}
        answer = Client(headers=person.headers).patch("/api/v1/tenant/", body, content_type="application/json")
        assert answer.status_code == 403
    assert signed_in(tenant.alice).get("/history/").status_code == 200


def test_a_tenant_that_asks_for_it_is_not_reached_from_another(at: Any) -> None:
    asks, open_one = _requiring(), make_tenant(PASSWORD)
    with on_login("operator"):
        Membership.objects.create(tenant_id=asks.id, user_id=open_one.alice.principal.user_id, role="approver")
    client = signed_in(open_one.alice)
    assert client.get("/history/").status_code == 200
    client.post("/accounts/tenant/", {"tenant": str(asks.id)})
    assert client.get("/history/")["Location"] == PAGE
    client.post("/accounts/tenant/", {"tenant": str(open_one.id)})
    assert client.get("/history/").status_code == 200
    # Nor may a client be allowed to act there.
    form = {"client_id": registered().id, "redirect_uri": BACK, "response_type": "code", "code_challenge": "x" * 43}
    path = f"/oauth/authorize?{urlencode(form | {'code_challenge_method': 'S256', 'scope': 'chat'})}"
    assert asks.slug not in client.get(path).content.decode()
    answer = client.post(path, {"answer": "allow", "tenant": str(asks.id)})
    assert (answer.status_code, rows("SELECT id FROM client_grants WHERE tenant_id = %(t)s", t=asks.id)) == (400, [])
    assert signed_in(asks.alice).get(path)["Location"] == PAGE


def test_operators_need_one_for_the_admin_where_the_setting_says_so(at: Any) -> None:
    person = make_tenant(PASSWORD).alice
    operator(person)
    with on_login("operator"):
        # An operator who is in no tenant.
        Membership.objects.filter(user_id=person.principal.user_id).delete()
    client = signed_in(person)
    assert client.get("/admin/").status_code == 200
    with override_settings(TOOLGATE_OPERATOR_SECOND_FACTOR=True):
        assert client.get("/admin/")["Location"] == PAGE
        assert client.get("/admin/tenants/apikey/")["Location"] == PAGE
        [secret] = re.findall(r'class="mono secret">([A-Z2-7]+)<', client.get(PAGE).content.decode())
        assert client.post(PAGE, {"code": _code(secret), "password": PASSWORD}).status_code == 200
        assert client.get("/admin/").status_code == 200
