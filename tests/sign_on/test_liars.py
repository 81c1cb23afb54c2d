"""Providers that lie, and answers that were not asked for: nobody gets in, and the words say why."""

import base64
import json
import time
from typing import Any

import jwt
import pytest
from django.core.cache import cache
from django.test import Client, override_settings
from redis.exceptions import ConnectionError as RedisAway

from tests.database import rows
from tests.people import Cast
from tests.services.api import Reply
from tests.sign_on.provider import BACK, CLIENT, START, Provider, log_in, sent_to


@pytest.fixture
def believed(tenant: Cast, provider: Provider) -> Provider:
    """One that the owner trusts."""
    provider.set_up(tenant, creates_members=True, default_role="member")
    return provider


def _outside(tenant: Cast, client: Client) -> bool:
    people = rows("SELECT id FROM memberships WHERE tenant_id = %(t)s", t=tenant.id)
    identities = rows("SELECT id FROM sign_on_identities WHERE tenant_id = %(t)s", t=tenant.id)
    return (len(people), identities) == (5, []) and client.get("/history/").status_code == 302


def _now(seconds: int) -> int:
    return int(time.time()) + seconds


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        (lambda: {"iss": "https://elsewhere.example"}, "another issuer"),
        (lambda: {"iss": None}, "is none"),
        (lambda: {"aud": "another-client"}, "another client"),
        (lambda: {"aud": []}, "is none"),
        (lambda: {"aud": [CLIENT, "another-client"]}, "another client"),
        (lambda: {"azp": "another-client"}, "another client"),
        (lambda: {"nonce": "a nonce of another log-in"}, "another log-in"),
        (lambda: {"nonce": None}, "is none"),
        (lambda: {"nonce": 7}, "another log-in"),
        (lambda: {"exp": _now(-3600)}, "has expired"),
        (lambda: {"exp": None}, "is none"),
        (lambda: {"exp": "never"}, "is none"),
        (lambda: {"iat": _now(3600), "exp": _now(7200)}, "from the future"),
        (lambda: {"nbf": _now(3600)}, "from the future"),
        (lambda: {"iat": _now(-3600)}, "older than this log-in"),
        (lambda: {"sub": None}, "is none"),
        (lambda: {"sub": ""}, "names nobody"),
        (lambda: {"sub": "x" * 256}, "names nobody"),
        (lambda: {"sub": "a\u0000b"}, "names nobody"),
        (lambda: {"sub": "ada", "more": "x" * 70_000}, "too long"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_id_token_that_is_not_about_this_log_in_lets_nobody_in(
    tenant: Cast, believed: Provider, browser: Client, claims: Any, words: str
) -> None:
    believed.claims |= claims()
    answer = log_in(browser, believed)
    assert (answer.status_code, words in answer.content.decode()) == (502, True), answer.content.decode()
    assert "An owner of the tenant" in answer.content.decode()
    assert _outside(tenant, browser)


def _with_header(token: str, **header: Any) -> str:
    _, payload, signature = token.split(".")
    head = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
    return f"{head}.{payload}.{signature}"


@pytest.mark.parametrize("kind", ["none", "shared secret", "other key", "unknown key", "garbled", "text", "list"])
def test_a_signature_that_is_not_the_providers_lets_nobody_in(
    tenant: Cast, believed: Provider, browser: Client, kind: str
) -> None:
    where = sent_to(browser.post(START, {"email": f"a@{believed.domain}"}))
    back = believed.accept(where)
    nonce = believed._codes[back["code"]]["nonce"]
    said = {"iss": believed.issuer, "aud": CLIENT, "sub": "ada", "iat": _now(0), "exp": _now(300), "nonce": nonce}
    good = believed.signed(said)
    if kind == "none":
        believed.token = jwt.encode(said, "", "none")
    elif kind == "shared secret":
        believed.token = jwt.encode(
            said, "a secret: with/odd&characters, and long enough", "HS256", headers={"kid": "key-0"}
        )
    elif kind == "other key":
        believed.signs_with, believed.header = 1, {"kid": "key-0"}
        believed.token = believed.signed(said)
    elif kind == "unknown key":
        believed.signs_with = 1
        believed.token = believed.signed(said)
    else:
        believed.token = {"garbled": good[:-9], "text": "not a token", "list": ["a"]}[kind]
    answer = browser.get(BACK, back)
    assert answer.status_code == 502, answer.content.decode()
    assert _outside(tenant, browser)


def test_new_keys_count_at_once_and_old_ones_no_more(tenant: Cast, believed: Provider, browser: Client) -> None:
    believed.published, believed.signs_with = [0, 1], 1
    assert log_in(browser, believed).status_code == 302
    believed.published, believed.signs_with = [1], 0
    assert log_in(browser, believed).status_code == 502
    believed.signs_with = 1
    assert log_in(browser, believed).status_code == 302


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://elsewhere.example"},
        {"issuer": None},
        {"token_endpoint": "http://169.254.169.254/token"},
        {"token_endpoint": "http://127.0.0.1:9/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"code_challenge_methods_supported": ["plain"]},
    ],
    ids=str,
)
def test_metadata_that_lies_or_leads_inwards_is_not_followed(
    tenant: Cast, believed: Provider, browser: Client, metadata: dict[str, Any]
) -> None:
    believed.metadata = metadata
    answer = browser.post(START, {"email": f"a@{believed.domain}"})
    assert (answer.status_code, "does not work" in answer.content.decode()) == (502, True)
    assert _outside(tenant, browser)


def test_a_provider_that_redirects_fails_or_answers_rubbish_lets_nobody_in(
    tenant: Cast, believed: Provider, browser: Client, caplog: pytest.LogCaptureFixture
) -> None:
    for path in ("/token", "/jwks", "/.well-known/openid-configuration"):
        was = believed.api.answers.copy()
        for reply in (
            Reply(302, b"", {"Location": "http://127.0.0.1:9/"}), Reply(500), Reply(200, b"[1]"), Reply(200, b"{"),
            Reply(200, b"{}"), Reply(200, b'{"a": "' + b"x" * 200_000 + b'"}'), Reply(404),
        ):  # fmt: skip
            where = sent_to(browser.post(START, {"email": f"a@{believed.domain}"}))
            back = believed.accept(where)
            believed.api.on(path, reply)
            answer = browser.get(BACK, back)
            assert answer.status_code == 502, (path, reply, answer.content.decode())
            believed.api.answers = was.copy()
            assert back["code"] not in caplog.text and back["state"] not in caplog.text
    assert _outside(tenant, browser)


def test_what_comes_back_counts_once_in_the_browser_that_began_it(
    tenant: Cast, believed: Provider, browser: Client, another: Client
) -> None:
    where = sent_to(browser.post(START, {"email": f"a@{believed.domain}"}))
    back = believed.accept(where)
    # A link to it that somebody else opens logs them in as nobody.
    assert another.get(BACK, back).status_code == 403
    assert _outside(tenant, another)
    where = sent_to(browser.post(START, {"email": f"a@{believed.domain}"}))
    back = believed.accept(where)
    assert browser.get(BACK, back).status_code == 302
    assert browser.get(BACK, back).status_code == 403
    again = believed.accept(where)
    assert browser.get(BACK, again).status_code == 403
    for senseless in ({}, {"state": "x", "code": "y"}, {"state": back["state"]}, {"code": again["code"]}):
        assert browser.get(BACK, senseless).status_code == 403


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"state": "another"}, 403),
        ({"error": "access_denied"}, 403),
        ({"error": "<script>"}, 403),
        ({"code": ""}, 403),
        ({"code": "unknown"}, 502),
        ({"code": "x" * 20_000}, 403),
        ({"iss": "https://elsewhere.example"}, 502),
    ],
    ids=str,
)
def test_an_answer_of_another_state_issuer_or_code_lets_nobody_in(
    tenant: Cast, believed: Provider, browser: Client, query: dict[str, str], status: int
) -> None:
    answer = log_in(browser, believed, **query)
    assert (answer.status_code, "<script>" in answer.content.decode()) == (status, False), answer.content.decode()
    assert _outside(tenant, browser)


def test_a_provider_that_names_itself_must_do_so_each_time(tenant: Cast, believed: Provider, browser: Client) -> None:
    believed.metadata = {"authorization_response_iss_parameter_supported": True}
    assert log_in(browser, believed).status_code == 502
    assert _outside(tenant, browser)
    assert log_in(browser, believed, iss=believed.issuer).status_code == 302


def test_an_attempt_ends_after_ten_minutes(
    tenant: Cast, believed: Provider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gateway.sign_on import flow

    monkeypatch.setattr(flow, "MINUTES", 0)
    assert log_in(browser, believed).status_code == 403
    assert _outside(tenant, browser)


def test_what_userinfo_says_counts_for_the_same_subject_alone(
    tenant: Cast, believed: Provider, browser: Client, another: Client
) -> None:
    address = {"email": f"ada@{believed.domain}", "email_verified": True}
    believed.claims = {"sub": "ada"}
    believed.userinfo = {"sub": "another"} | address
    assert log_in(browser, believed).status_code == 403
    assert _outside(tenant, browser)
    believed.userinfo = {"sub": "ada"} | address
    assert log_in(another, believed).status_code == 302


def test_attempts_are_counted_and_never_uncounted(
    tenant: Cast, believed: Provider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with override_settings(LOGIN_ATTEMPTS="2/d"):
        address = {"email": f"counted@{believed.domain}"}
        answers = []
        for last in range(3):
            browser.defaults["REMOTE_ADDR"] = f"192.0.2.{120 + last}"
            answers.append(browser.post(START, address))
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert int(answers[2]["Retry-After"]) > 0
    back = believed.accept(sent_to(answers[1]))

    def away(*args: object, **kwargs: object) -> None:
        raise RedisAway("away")

    monkeypatch.setattr(cache, "add", away)
    assert browser.post(START, address).status_code == 503
    assert browser.get(BACK, back).status_code == 503
    monkeypatch.undo()
    assert _outside(tenant, browser)


@pytest.mark.parametrize("address", ["", "x", "a@", "a@b", "a@127.0.0.1", "a@[::1]", "a@x\u0000.example", "a" * 300])
def test_an_address_that_is_none_leads_nowhere(provider: Provider, browser: Client, address: str) -> None:
    assert browser.post(START, {"email": address}).status_code in (400, 404)
    assert provider.api.asked == []


def test_where_to_go_afterwards_is_on_this_site(tenant: Cast, believed: Provider, browser: Client) -> None:
    for following in ("https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)"):
        where = sent_to(browser.post(START, {"email": f"a@{believed.domain}", "next": following}))
        assert browser.get(BACK, believed.accept(where))["Location"] == "/"
