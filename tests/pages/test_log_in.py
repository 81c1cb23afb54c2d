"""The log-in page's limit, and the tenant switcher."""

import re
import uuid

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.cache import cache
from django.test import Client, override_settings
from redis.exceptions import ConnectionError as RedisAway

from tenants.models import Membership
from tenants.scope.routing import on_login
from tests.approvals.admin import operator
from tests.browser.sessions import session_of
from tests.people import PASSWORD, Cast, make_tenant, window_lasts
from tests.stack import somewhere_else


def _try(address: str, username: str, password: str = "wrong") -> int:
    client = Client(REMOTE_ADDR=address)
    return client.post("/accounts/login/", {"username": username, "password": password}).status_code


def test_the_eleventh_attempt_from_one_address_in_a_minute_is_told_to_wait() -> None:
    # One whose minute has just begun.
    address = next(address for address in (f"198.51.100.{n}" for n in range(256)) if window_lasts("10/m", address))
    statuses = [_try(address, f"nobody-{uuid.uuid4()}") for _ in range(10)]
    assert statuses == [200] * 10
    answer = Client(REMOTE_ADDR=address).post("/accounts/login/", {"username": "nobody", "password": "x"})
    assert answer.status_code == 429
    assert 1 <= int(answer["Retry-After"]) <= 60
    assert "Too many attempts to log in" in answer.content.decode()
    assert Client(REMOTE_ADDR=address).get("/accounts/login/").status_code == 200


# A day is a window that no slow machine lets end within the test.
@override_settings(LOGIN_ATTEMPTS="10/d")
def test_the_eleventh_attempt_at_one_username_is_refused_even_with_the_right_password() -> None:
    person = make_tenant(PASSWORD).alice
    for number in range(10):
        assert _try(f"192.0.2.{10 + number}", person.username.upper()) == 200
    client = Client(REMOTE_ADDR="192.0.2.99")
    answer = client.post("/accounts/login/", {"username": person.username, "password": PASSWORD})
    assert answer.status_code == 429
    assert "sessionid" not in client.cookies


SPELLINGS = [
    lambda name: name,
    lambda name: f" {name}",
    lambda name: f"{name}\t ",
    lambda name: f"\u3000{name}",
    lambda name: "".join(chr(ord(letter) + 0xFEE0) for letter in name),
    lambda name: name.upper(),
]


# A day is a window that no slow machine lets end within the test.
@override_settings(LOGIN_ATTEMPTS="10/d")
@pytest.mark.parametrize("exists", [True, False], ids=["a member", "nobody"])
def test_every_spelling_of_one_username_counts_as_one(exists: bool) -> None:
    name = make_tenant(PASSWORD).alice.username if exists else f"nobody-{uuid.uuid4()}"
    for number in range(10):
        spelling = SPELLINGS[number % len(SPELLINGS)](name)
        assert _try(f"198.51.100.{10 + number}", spelling) == 200
    for number, spell in enumerate(SPELLINGS):
        client = Client(REMOTE_ADDR=f"198.51.100.{100 + number}")
        answer = client.post("/accounts/login/", {"username": spell(name), "password": PASSWORD})
        assert answer.status_code == 429
        assert "sessionid" not in client.cookies


def test_an_unknown_name_is_answered_as_a_wrong_password_is(monkeypatch: pytest.MonkeyPatch) -> None:
    person = make_tenant(PASSWORD).alice
    hashed: list[str] = []
    encode = PBKDF2PasswordHasher.encode

    def counting(self: PBKDF2PasswordHasher, password: str, *args: object, **kwargs: object) -> str:
        hashed.append(password)
        return str(encode(self, password, *args, **kwargs))

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", counting)
    answers = []
    for name in (person.username, f"nobody-{uuid.uuid4()}"):
        client = Client(REMOTE_ADDR=somewhere_else()["X-Forwarded-For"])
        answer = client.post("/accounts/login/", {"username": name, "password": "wrong"})
        token = re.compile('name="csrfmiddlewaretoken" value="[^"]*"')
        answers.append((answer.status_code, token.sub("", answer.content.decode()).replace(name, "NAME")))
        assert hashed == ["wrong"], name
        hashed.clear()
    assert answers[0] == answers[1]


@override_settings(LOGIN_ATTEMPTS="10/d")
def test_ones_old_password_is_tried_no_more_often_than_at_the_log_in() -> None:
    person = make_tenant(PASSWORD).alice
    operator(person)
    client = Client()
    client.cookies["sessionid"] = session_of(person)
    form = {"old_password": "wrong", "new_password1": "a new one 4711", "new_password2": "a new one 4711"}
    statuses = [client.post("/admin/password_change/", form).status_code for _ in range(11)]
    assert statuses == [200] * 10 + [429]


def test_the_admin_has_no_log_in_page_of_its_own() -> None:
    answer = Client().post("/admin/login/", {"username": "admin", "password": "x"})
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/?next=/admin/")


def test_without_a_count_nobody_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    person = make_tenant(PASSWORD).alice

    def away(*args: object, **kwargs: object) -> None:
        raise RedisAway("away")

    monkeypatch.setattr(cache, "add", away)
    client = Client(REMOTE_ADDR="192.0.2.200")
    answer = client.post("/accounts/login/", {"username": person.username, "password": PASSWORD})
    assert answer.status_code == 503
    assert int(answer["Retry-After"]) > 0
    assert "sessionid" not in client.cookies


def test_a_form_without_its_token_changes_nothing() -> None:
    person = make_tenant(PASSWORD).alice
    client = Client(enforce_csrf_checks=True, REMOTE_ADDR="192.0.2.201")
    answer = client.post("/accounts/login/", {"username": person.username, "password": PASSWORD})
    assert answer.status_code == 403
    assert "sessionid" not in client.cookies


def test_log_in_goes_on_only_to_this_site() -> None:
    person = make_tenant(PASSWORD).alice
    client = Client(REMOTE_ADDR="192.0.2.202")
    form = {"username": person.username, "password": PASSWORD, "next": "https://evil.example/"}
    answer = client.post("/accounts/login/", form)
    assert (answer.status_code, answer["Location"]) == (302, "/")


def test_a_member_of_two_tenants_switches_and_others_do_not(tenant: Cast, other_tenant: Cast) -> None:
    client = Client()
    client.cookies["sessionid"] = session_of(tenant.alice)
    assert client.post("/accounts/tenant/", {"tenant": str(other_tenant.id)}).status_code == 404
    assert other_tenant.slug not in client.get("/").content.decode()
    with on_login("operator"):
        Membership.objects.create(tenant_id=other_tenant.id, user_id=tenant.alice.principal.user_id, role="auditor")
    assert client.post("/accounts/tenant/", {"tenant": str(other_tenant.id)}).status_code == 302
    page = client.get("/history/").content.decode()
    assert f"auditor in {other_tenant.slug}" in page
    assert client.post("/accounts/tenant/", {"tenant": "nonsense"}).status_code == 404
    assert client.get("/accounts/tenant/").status_code == 405
