"""Errors, headers and addresses: the same everywhere under `/api/`."""

import httpx
import pytest

from tests.hostile.upstream import ORIGIN
from tests.people import PASSWORD, Cast, make_tenant
from tests.stack import Stack
from tests.tenants.browser import logged_in

NOBODYS = "7d8e5bb6-2f4c-4b8b-9d6a-0a4f0f4f7a11"
NOWHERE = [
    "/api/v1/",
    "/api/v1/nowhere",
    "/api/v1/runs/not-a-uuid",
    "/api/v1/chat/",
    "/api/v1/tool-calls/x/",
    "/api/v2/chat",
]


def _is_problem(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    body = answer.json()
    assert {"type", "title", "status", "code", "detail"} <= set(body)
    assert (body["status"], body["code"]) == (status, code)
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("path", NOWHERE)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_address_that_is_not_there_is_a_404_problem(stack: Stack, tenant: Cast, method: str, path: str) -> None:
    _is_problem(httpx.request(method, stack.url + path, headers=tenant.alice.headers), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/v1/chat"), ("DELETE", "/api/v1/chat"), ("PUT", "/api/v1/tools/"), ("POST", "/api/v1/tool-calls/"),
     ("DELETE", f"/api/v1/tool-calls/{NOBODYS}/"), ("GET", f"/api/v1/runs/{NOBODYS}/cancel"),
     ("PUT", f"/api/v1/conversations/{NOBODYS}/")],
)  # fmt: skip
def test_a_method_that_is_not_taken_is_a_405_problem(stack: Stack, tenant: Cast, method: str, path: str) -> None:
    answer = httpx.request(method, stack.url + path, headers=tenant.alice.headers)
    _is_problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/", "/accounts/login/", "/api/schema/", "/api/v1/tools/",
                                  "/api/v1/nowhere", "/static/css/base.css", "/nowhere"])  # fmt: skip
def test_every_answer_carries_a_request_id(stack: Stack, tenant: Cast, path: str) -> None:
    answer = httpx.get(stack.url + path, headers={"X-Request-Id": "mine.1"})
    assert answer.headers["x-request-id"] == "mine.1"
    assert httpx.get(stack.url + path).headers["x-request-id"]


# --- both ways to the same answer ------------------------------------------------------------------------------------
SAME = ("content-type", "cache-control", "x-content-type-options", "retry-after", "www-authenticate")


@pytest.mark.parametrize(
    "body",
    [b'{"content": "hello"}', b"{}", b"[", b'{"content": "x", "model": "a/b"}', b'{"content": "x", "agent": "a"}',
     b'{"content": "x", "conversation_id": "7d8e5bb6-2f4c-4b8b-9d6a-0a4f0f4f7a11"}'],
)  # fmt: skip
@pytest.mark.parametrize("key", ["right", "wrong", "auditor"])
def test_the_callable_in_front_and_django_answer_the_same(stack: Stack, tenant: Cast, body: bytes, key: str) -> None:
    who = {"right": tenant.alice.headers, "wrong": {"Authorization": "Bearer tg_x"}, "auditor": tenant.dana.headers}[
        key
    ]
    fast = httpx.post(f"{stack.url}/api/v1/chat", content=body, headers=who)
    slow = httpx.post(f"{stack.url}/api/v1/chat", content=body, headers=who | {"Origin": ORIGIN})
    assert fast.status_code == slow.status_code
    assert {name: fast.headers.get(name) for name in SAME} == {name: slow.headers.get(name) for name in SAME}
    one, other = fast.json(), slow.json()
    for each in (one, other):
        for name in ("id", "run_id", "conversation_id"):
            each.pop(name, None)
    assert one == other


def test_a_session_is_answered_as_a_key_is(stack: Stack) -> None:
    cast = make_tenant(PASSWORD)
    by_key = stack.chat(cast.alice, "hello").json()
    with logged_in(stack, cast.alice) as browser:
        token = {"X-CSRFToken": browser.cookies["csrftoken"]}
        by_session = browser.post("/api/v1/chat", json={"content": "hello"}, headers=token).json()
    assert set(by_session) == set(by_key)
    assert by_session["content"] == by_key["content"]


# --- other sites -----------------------------------------------------------------------------------------------------
def test_an_origin_in_the_setting_may_ask_and_any_other_may_not(stack: Stack, tenant: Cast) -> None:
    for path in ("/api/v1/tools/", "/api/v1/chat"):
        asked = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        }
        allowed = httpx.options(stack.url + path, headers={"Origin": ORIGIN} | asked)
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == ORIGIN
        assert "authorization" in allowed.headers["access-control-allow-headers"]
        assert "access-control-allow-credentials" not in allowed.headers
        other = httpx.options(stack.url + path, headers={"Origin": "https://evil.example"} | asked)
        assert "access-control-allow-origin" not in other.headers
    answer = stack.chat(tenant.alice, "hello", headers={"Origin": ORIGIN})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, ORIGIN)
    answer = stack.chat(tenant.alice, "hello", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_pages_carry_a_strict_content_security_policy(stack: Stack) -> None:
    cast = make_tenant(PASSWORD)
    with logged_in(stack, cast.alice) as browser:
        pages = [browser.get(path) for path in ("/", "/history/", "/nowhere")]
    pages += [httpx.get(f"{stack.url}{path}") for path in ("/accounts/login/", "/admin/login/")]
    for page in pages:
        policy = dict(part.strip().partition(" ")[::2] for part in page.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert policy["base-uri"] == "'none'"
        assert "unsafe" not in page.headers["content-security-policy"]
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert "<script>" not in page.text
        assert " onclick=" not in page.text
