"""A forgotten password: a link by e-mail, which works once, and says nothing about who has an account."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.tokens import default_token_generator
from django.core import mail
from django.core.cache import cache
from django.test import Client, override_settings
from redis.exceptions import ConnectionError as RedisAway

from tenants.login.passwords import reset_pages
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import PASSWORD, Person, make_tenant
from tests.stack import somewhere_else

PAGE, NEW = "/accounts/password-reset/", "another horse 4711"


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The e-mails that were sent, once whatever sends them has ended."""
    with override_settings(EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend", LOGIN_ATTEMPTS="50/d"):
        mail.outbox = []
        pool = ThreadPoolExecutor(1)
        monkeypatch.setattr(reset_pages, "_SENDING", pool)

        def outbox() -> list[Any]:
            pool.submit(lambda: None).result()
            return list(mail.outbox)

        yield outbox
        pool.shutdown()


def _person(email: str = "alice@example.com") -> Person:
    person = make_tenant(PASSWORD).alice
    rows("UPDATE users SET email = %(e)s WHERE id = %(u)s RETURNING id", e=email, u=person.principal.user_id)
    return person


def _ask(username: str, **more: Any) -> Any:
    return Client(REMOTE_ADDR=somewhere_else()["X-Forwarded-For"], **more).post(PAGE, {"username": username})


def _open(link: str) -> tuple[Client, Any]:
    """A browser that has followed the link, and the page that it is on."""
    client = Client()
    answer = client.get(urlsplit(link).path)
    return client, client.get(answer["Location"]) if answer.status_code == 302 else answer


def _logs_in(person: Person, password: str) -> bool:
    client = Client(REMOTE_ADDR=somewhere_else()["X-Forwarded-For"])
    client.post("/accounts/login/", {"username": person.username, "password": password})
    return "sessionid" in client.cookies


def _link(sent: Any) -> str:
    [message] = sent()
    [link] = re.findall(r"http\S+", message.body)
    return str(link)


def test_a_link_sets_a_new_password_once_and_ends_sessions(sent: Any) -> None:
    person = _person()
    session = signed_in(person)
    answer = _ask(f" {person.username} ", headers={"Host": "evil.example"})
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/")
    [message] = sent()
    assert (message.to, person.username in message.body) == (["alice@example.com"], True)
    link = _link(sent)
    assert link.startswith("http://127.0.0.1:8000/accounts/password-reset/")
    client, page = _open(link)
    # Nothing that this page loads or links to is told the token.
    assert page.request["PATH_INFO"].endswith("/set-password/")
    form = {"new_password1": NEW, "new_password2": NEW}
    assert client.post(page.request["PATH_INFO"], form | {"new_password2": "x"}).status_code == 200
    assert client.post(page.request["PATH_INFO"], form)["Location"] == "/accounts/login/"
    assert _logs_in(person, NEW) and not _logs_in(person, PASSWORD)
    assert session.get("/settings/keys/").status_code == 302
    _, again = _open(link)
    assert "This link does not work any more" in again.content.decode()


@pytest.mark.parametrize("what", ["nobody", "without an address", "inactive", "without a password"])
def test_whoever_gets_no_mail_is_answered_the_same(sent: Any, what: str) -> None:
    person = _person("" if what == "without an address" else "alice@example.com")
    changes = {"inactive": "is_active = false", "without a password": "password = '!x'"}
    if what in changes:
        rows(f"UPDATE users SET {changes[what]} WHERE id = %(u)s RETURNING id", u=person.principal.user_id)
    answer = _ask(f"nobody-{uuid.uuid4()}" if what == "nobody" else person.username)
    known = _ask(_person().username)
    for each in (answer, known):
        assert (each.status_code, each["Location"], len(each.content)) == (302, "/accounts/login/", 0)
    assert set(answer.headers) == set(known.headers)
    assert len(sent()) == 1


def test_a_link_ends_with_time_a_log_in_or_another_password(sent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    person = _person()
    _ask(person.username)
    link = _link(sent)
    with override_settings(PASSWORD_RESET_TIMEOUT=-1):
        assert "does not work any more" in _open(link)[1].content.decode()
    assert "Set password" in _open(link)[1].content.decode()
    client, page = _open(link)
    assert _logs_in(person, PASSWORD)
    answer = client.post(page.request["PATH_INFO"], {"new_password1": NEW, "new_password2": NEW})
    assert "does not work any more" in answer.content.decode()
    assert _logs_in(person, PASSWORD)


@pytest.mark.parametrize("path", ["x/y", "MQ/set-password", "AA==/x-y", "%F0%9F%98%80/set-password", "_w/a-b"])
def test_a_made_up_link_is_no_link(path: str) -> None:
    _, page = _open(f"{PAGE}{path}/")
    assert (page.status_code, "does not work any more" in page.content.decode()) == (200, True)


def test_another_users_token_sets_nothing(sent: Any) -> None:
    person, other = _person(), _person("bob@example.com")
    _ask(person.username)
    token = _link(sent).rstrip("/").rpartition("/")[2]
    from django.utils.encoding import force_bytes
    from django.utils.http import urlsafe_base64_encode

    uid = urlsafe_base64_encode(force_bytes(other.principal.user_id))
    assert "does not work any more" in _open(f"{PAGE}{uid}/{token}/")[1].content.decode()
    assert default_token_generator.key_salt != ""


def test_links_are_counted_and_refused_when_they_cannot_be(sent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    person = _person()
    with override_settings(LOGIN_ATTEMPTS="2/d"):
        assert [_ask(name).status_code for name in (person.username, person.username.upper(), person.username)] == [
            302, 302, 429,
        ]  # fmt: skip
    assert len(sent()) == 1

    def away(*args: object, **kwargs: object) -> None:
        raise RedisAway("away")

    monkeypatch.setattr(cache, "add", away)
    assert _ask(_person().username).status_code == 503
    assert len(sent()) == 1
