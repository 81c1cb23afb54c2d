"""A proxy that speaks TLS, whose address TRUSTED_PROXIES does not name: nobody logs in, and everybody is told why."""

import re
from typing import Any

import httpx
import pytest
from django.test import RequestFactory

from gateway.server import proxies
from tests.people import PASSWORD, make_tenant
from tests.stack import Stack

FORWARDED = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}


def lead(page: str) -> str:
    [found] = re.findall(r'<p class="lead">(.*?)</p>', page)
    return str(found)


def https(stack: Stack) -> dict[str, str]:
    """What a browser sends, and what the proxy adds."""
    return FORWARDED | {"Origin": stack.url.replace("http", "https", 1)}


def log_in(url: str, username: str, headers: dict[str, str]) -> httpx.Response:
    """Fill in the log-in form."""
    with httpx.Client(base_url=url) as browser:
        [token] = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get("/accounts/login/").text)
        form = {"username": username, "password": PASSWORD, "csrfmiddlewaretoken": token}
        return browser.post("/accounts/login/", data=form, headers=headers)


def test_the_page_and_the_log_name_the_proxy_and_the_setting() -> None:
    username = make_tenant(PASSWORD).alice.username
    # As uvicorn runs without TRUSTED_PROXIES in `make up`.
    with Stack(FORWARDED_ALLOW_IPS="192.0.2.1", TRUSTED_PROXIES="") as stack:
        for _ in range(3):
            answer = log_in(stack.url, username, https(stack))
            assert answer.status_code == 403
            assert lead(answer.text).startswith("A proxy at 127.0.0.1 passed this on from HTTPS, and Toolgate does not")
        assert "TRUSTED_PROXIES=127.0.0.1" in lead(answer.text)
        lines = [
            line for line in stack.log("web").splitlines() if "Set TRUSTED_PROXIES=127.0.0.1 if it is yours" in line
        ]
        assert len(lines) == 1
        assert "level=warning" in lines[0] and "203.0.113.9" not in lines[0]
        # A form that is stale for another reason is told as before.
        stale = log_in(stack.url, username, {"Origin": "http://elsewhere.example"})
        assert lead(stale.text).startswith("You may have logged in or out in another tab")


def test_behind_a_trusted_proxy_one_logs_in_and_the_browser_is_told_to_insist_on_https() -> None:
    username = make_tenant(PASSWORD).alice.username
    trusting = {"FORWARDED_ALLOW_IPS": "127.0.0.1", "TRUSTED_PROXIES": "127.0.0.1", "TOOLGATE_HSTS_SECONDS": "3600"}
    with Stack(**trusting) as stack:
        assert log_in(stack.url, username, https(stack)).status_code == 302
        page = httpx.get(f"{stack.url}/accounts/login/", headers={"X-Forwarded-Proto": "https"})
        assert page.headers["strict-transport-security"] == "max-age=3600"
        assert "strict-transport-security" not in httpx.get(f"{stack.url}/accounts/login/").headers
        assert "TRUSTED_PROXIES" not in stack.log("web")


@pytest.mark.parametrize(
    ("headers", "scheme", "found"),
    [
        ({"HTTP_X_FORWARDED_PROTO": "https"}, "http", "198.51.100.7"),
        ({"HTTP_X_FORWARDED_PROTO": "http, HTTPS "}, "http", "198.51.100.7"),
        ({"HTTP_FORWARDED": "for=1.2.3.4;proto=https"}, "http", "198.51.100.7"),
        ({"HTTP_X_FORWARDED_PROTO": "https"}, "https", ""),
        ({"HTTP_X_FORWARDED_PROTO": "http"}, "http", ""),
        ({}, "http", ""),
    ],
)
def test_a_proxy_is_untrusted_when_it_says_https_and_the_server_does_not(
    headers: dict[str, str], scheme: str, found: str
) -> None:
    request: Any = RequestFactory().post("/", REMOTE_ADDR="198.51.100.7", **headers)
    request.scope = {"scheme": scheme}
    assert proxies.untrusted(request) == found
