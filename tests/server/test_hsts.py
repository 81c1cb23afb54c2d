"""Browsers are told to insist on HTTPS on every route, and only by answers over HTTPS."""

import asyncio
from typing import Any

import pytest
from django.test import override_settings

from gateway.config.asgi import application

ROUTES = ["/v1/models", "/v1/nowhere", "/healthz", "/accounts/login/", "/api/v1/tools/"]


async def _headers(path: str, scheme: str) -> list[tuple[bytes, bytes]]:
    started: list[dict[str, Any]] = []
    received = iter([{"type": "http.request", "body": b"", "more_body": False}])
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        for message in received:
            return message
        # Django waits here for its client to go, until the answer is sent.
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            started.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": scheme,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 5),
        "server": ("localhost", 443),
    }
    await application(scope, receive, send)
    return [(bytes(name).lower(), bytes(value)) for name, value in started[0]["headers"]]


@pytest.mark.parametrize("path", ROUTES)
async def test_an_answer_over_https_says_once_for_how_long_https_holds(path: str) -> None:
    with override_settings(SECURE_HSTS_SECONDS=60):
        found = [value for name, value in await _headers(path, "https") if name == b"strict-transport-security"]
    assert found == [b"max-age=60"]


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(("scheme", "seconds"), [("http", 60), ("https", 0)])
async def test_without_https_or_with_nothing_to_say_nothing_is_said(path: str, scheme: str, seconds: int) -> None:
    with override_settings(SECURE_HSTS_SECONDS=seconds):
        assert b"strict-transport-security" not in dict(await _headers(path, scheme))
