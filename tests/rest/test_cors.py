"""What pages of other origins may ask for, and what they may read, on every way through the application."""

from typing import Any

import httpx
import pytest

from tests.hostile.upstream import ORIGIN, Upstream, failing, scripted, streamed
from tests.people import Cast
from tests.stack import Stack

ELSEWHERE = "https://evil.example"
SENT = [
    *("authorization", "content-type", "idempotency-key", "last-event-id", "x-api-key", "x-request-id"),
    *("anthropic-version", "anthropic-beta", "anthropic-dangerous-direct-browser-access"),
    *("x-stainless-lang", "x-stainless-package-version", "x-stainless-os", "x-stainless-arch", "x-stainless-runtime"),
    *("x-stainless-runtime-version", "x-stainless-retry-count", "x-stainless-timeout", "x-stainless-helper-method"),
    "x-stainless-not-yet-invented",
    *("mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "mcp-param-region", "if-match"),
]
READ = {"x-request-id", "request-id", "ratelimit", "ratelimit-policy", "retry-after", "x-should-retry"}
READ |= {"www-authenticate", "mcp-session-id", "etag"}
PATHS = ["/api/v1/chat", "/api/v1/runs/x/events", "/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/models"]


def _preflight(url: str, origin: str, asked: list[str]) -> httpx.Response:
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": ",".join(asked)}
    return httpx.options(url, headers={"Origin": origin, **wanted})


def _words(header: str) -> set[str]:
    return {word.strip().lower() for word in header.split(",")}


def _readable(answer: httpx.Response) -> None:
    assert answer.headers.get_list("access-control-allow-origin") == [ORIGIN]
    assert _words(answer.headers["access-control-expose-headers"]) == READ
    assert "access-control-allow-credentials" not in answer.headers
    assert "origin" in _words(answer.headers["vary"])


@pytest.mark.parametrize("path", PATHS)
def test_an_allowed_page_may_send_what_the_sdks_send(stack: Stack, path: str) -> None:
    answer = _preflight(stack.url + path, ORIGIN, SENT)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert set(SENT) <= _words(answer.headers["access-control-allow-headers"])
    assert {"get", "post", "delete"} <= _words(answer.headers["access-control-allow-methods"])
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("name", ["cookie", "x-forwarded-for", "x-stainless-", "x-stainless-a b", "x-evil", "*"])
def test_no_other_header_is_allowed(stack: Stack, name: str) -> None:
    allowed = _preflight(f"{stack.url}/v1/messages", ORIGIN, [name]).headers["access-control-allow-headers"]
    assert name not in _words(allowed)


@pytest.mark.parametrize("path", PATHS)
def test_another_page_may_nothing(stack: Stack, path: str) -> None:
    for answer in (
        _preflight(stack.url + path, ELSEWHERE, SENT), httpx.post(stack.url + path, headers={"Origin": ELSEWHERE})
    ):  # fmt: skip
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert "origin" in _words(answer.headers["vary"])


def test_refusals_are_readable_on_every_way_through(upstream: Upstream, tenant: Cast) -> None:
    url = upstream.stack.url
    key, origin = tenant.alice.headers, {"Origin": ORIGIN}
    for path in ("/api/v1/chat", "/v1/chat/completions", "/v1/messages", "/v1/responses"):
        answer = httpx.post(url + path, headers=origin, json={})
        assert answer.status_code == 401
        _readable(answer)
        answer = httpx.post(url + path, headers=origin | key, content=b" " * (33 * 1024 * 1024))
        assert answer.status_code == 413
        _readable(answer)
        answer = httpx.post(url + path, headers=origin | key, content=b"{")
        assert answer.status_code == 400
        _readable(answer)
    for path in ("/api/v1/nowhere", "/v1/nowhere"):
        answer = httpx.get(url + path, headers=origin | key)
        assert answer.status_code == 404
        _readable(answer)


@pytest.mark.parametrize(("status", "found"), [(429, 429), (500, 502)])
def test_a_providers_failure_is_readable(upstream: Upstream, tenant: Cast, status: int, found: int) -> None:
    headers = tenant.alice.headers | {"Origin": ORIGIN}
    script = upstream.script(failing(status, Retry_After="0"))
    answer = upstream.stack.chat(tenant.alice, **scripted(script), headers=headers)
    assert answer.status_code == found
    _readable(answer)
    body = {"model": "openai/m", "messages": [{"role": "user", "content": script.name}]}
    answer = httpx.post(f"{upstream.stack.url}/v1/chat/completions", headers=headers, json=body)
    assert answer.status_code == found
    _readable(answer)


def test_streams_are_readable(upstream: Upstream, tenant: Cast) -> None:
    headers = tenant.alice.headers | {"Origin": ORIGIN}
    script = upstream.script(streamed({"content": "Hello."}))
    bodies: dict[str, dict[str, Any]] = {
        "/api/v1/chat": scripted(script, stream=True),
        "/v1/chat/completions": {
            "model": "openai/m", "stream": True, "messages": [{"role": "user", "content": script.name}]
        },
    }  # fmt: skip
    for path, body in bodies.items():
        answer = httpx.post(upstream.stack.url + path, headers=headers, json=body)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        _readable(answer)
