"""A body is bounded in front of every route, whoever asks and however it is framed."""

from pathlib import Path

import pytest
from django.conf import settings

from tests.database import rows
from tests.people import Cast
from tests.server.wire import CHUNK, Answer, Wire
from tests.stack import Stack

MIB = 1024 * 1024
PAGES = ["/healthz", "/accounts/login/", "/admin/login/", "/", "/nowhere/at/all", "/static/none.css"]
API = ["/api/v1/chat", "/api/v1/conversations/", "/api/nowhere", "/api/schema/"]
OPENAI = ["/v1/chat/completions", "/v1/responses", "/v1/models", "/v1/nowhere"]
ANTHROPIC = ["/v1/messages", "/v1/messages/count_tokens"]


def _refused(answer: Answer, path: str) -> None:
    """In the form of the API that was asked, and the last answer of its connection."""
    assert answer.status == 413, answer
    assert answer.headers["connection"] == "close"
    assert answer.headers["x-request-id"] == "mine"
    if path in PAGES:
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert b"may have up to 4,194,304 bytes" in answer.body
    elif path in API:
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.json()["status"], answer.json()["code"]) == (413, "content_too_large")
    elif path in OPENAI:
        assert "33,554,432 bytes" in answer.json()["error"]["message"]
        assert "code" in answer.json()["error"]
    else:
        assert answer.json()["type"] == "error"
        assert answer.json()["error"]["type"] == "request_too_large"


@pytest.mark.parametrize("path", [*PAGES, *API, *OPENAI, *ANTHROPIC])
def test_a_body_that_is_announced_as_too_long_is_refused_before_it_comes(stack: Stack, path: str) -> None:
    with Wire(stack.port) as wire:
        wire.head(f"POST {path}", f"Content-Length: {200 * MIB}", "X-Request-Id: mine")
        _refused(wire.answer(), path)
        assert wire.ended()


@pytest.mark.parametrize("path", [*PAGES, *API, "/api/v1/tool-calls/"])
def test_a_body_in_chunks_is_refused_as_soon_as_it_is_too_long(stack: Stack, path: str) -> None:
    with Wire(stack.port) as wire:
        wire.head(f"POST {path}", "Transfer-Encoding: chunked", "X-Request-Id: mine")
        sent = wire.send_until_answered(CHUNK, 200 * MIB)
        answer = wire.answer()
        assert sent < 200 * MIB
        _refused(answer, path if path in PAGES else API[0])
        assert wire.ended()


@pytest.mark.parametrize("path", [*OPENAI, *ANTHROPIC])
def test_a_body_of_somebody_unknown_is_not_read_to_its_end(stack: Stack, path: str) -> None:
    with Wire(stack.port) as wire:
        wire.head(f"POST {path}", "Transfer-Encoding: chunked", "Authorization: Bearer tg_nobodys")
        assert wire.answer().status in (401, 404, 405)
        # What follows the answer is thrown away, and not for long.
        assert wire.send_until_answered(CHUNK, 200 * MIB) < 200 * MIB


@pytest.mark.parametrize("path", OPENAI[:2] + ANTHROPIC)
def test_a_members_body_in_chunks_is_refused_in_the_vendors_form(stack: Stack, tenant: Cast, path: str) -> None:
    with Wire(stack.port) as wire:
        key = f"Authorization: Bearer {tenant.alice.key}"
        wire.head(f"POST {path}", "Transfer-Encoding: chunked", key, "X-Request-Id: mine")
        wire.send_until_answered(CHUNK, 200 * MIB)
        _refused(wire.answer(), path)
        assert wire.ended()
    assert rows("SELECT id FROM runs WHERE tenant_id = %(tenant)s", tenant=tenant.id) == []


def test_a_body_of_exactly_the_bound_is_read(stack: Stack, tenant: Cast) -> None:
    most = settings.TOOLGATE_MAX_BODY_BYTES
    for framing in (f"Content-Length: {most}", "Transfer-Encoding: chunked"):
        with Wire(stack.port) as wire:
            key, kind = f"Authorization: Bearer {tenant.alice.key}", "Content-Type: application/json"
            wire.head("POST /api/v1/conversations/", framing, key, kind)
            body = b"{" + b" " * (most - 1)
            wire.send(body if "Length" in framing else b"%x\r\n%b\r\n0\r\n\r\n" % (most, body))
            answer = wire.answer()
            assert (answer.status, answer.json()) == (400, answer.json() | {"code": "invalid_request"})


def test_a_body_in_chunks_is_read_like_any_other(stack: Stack, tenant: Cast) -> None:
    with Wire(stack.port) as wire:
        key, kind = f"Authorization: Bearer {tenant.alice.key}", "Content-Type: application/json"
        wire.head("POST /api/v1/conversations/", "Transfer-Encoding: chunked", key, kind)
        wire.send(b'b\r\n{"title": "\r\n7\r\ntea"}  \r\n0\r\n\r\n')
        answer = wire.answer()
        assert (answer.status, answer.json()["title"]) == (201, "tea")


def test_a_late_body_of_a_refused_request_keeps_its_connection(stack: Stack) -> None:
    with Wire(stack.port) as wire:
        for _ in range(3):
            headers = ("Authorization: Bearer tg_nobodys", "Content-Length: 5")
            wire.head("POST /v1/chat/completions", *headers)
            assert wire.answer().status == 401
            wire.send(b"hello")
        wire.head("GET /healthz")
        assert wire.answer().status == 200


def test_nothing_of_a_body_is_written_to_disk(stack: Stack) -> None:
    def written() -> int:
        lines = Path(f"/proc/{stack.processes['web'].pid}/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["write_bytes"])

    before = written()
    with Wire(stack.port) as wire:
        wire.head("POST /accounts/login/", "Transfer-Encoding: chunked")
        wire.send_until_answered(CHUNK, 200 * MIB)
        assert wire.answer().status == 413
    assert written() - before < MIB
