"""The log-in page's limit, and the tenant switcher."""

import uuid

import pytest
from django.core.cache import cache
from django.test import Client, override_settings
from redis.exceptions import ConnectionError as RedisAway

from tenants.models import Membership
from tenants.routing import on_login
from tests.browser.sessions import session_of
from tests.people import PASSWORD, Cast, make_tenant


def _try(address: str, username: str, password: str = "wrong") -> int:
    client = Client(REMOTE_ADDR=address)
    return client.post("/accounts/login/", {"username": username, "password": password}).status_code


def test_the_eleventh_attempt_from_one_address_in_a_minute_is_told_to_wait() -> None:
    address = "192.0.2.1"
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
