"""Clients of HTTP/1.0, such as older proxies and health checks, know no chunks: an answer ends with its connection."""

import json

import pytest

from tests.browser.sessions import session_of
from tests.people import Cast, Person
from tests.rest import sse
from tests.server.wire import Wire
from tests.stack import Stack

NOTE = 'call: save_note {"title": "Milk", "content": "Two litres"}'


def _asked(stack: Stack, request: str, *headers: str, body: bytes = b"") -> tuple[int, dict[str, str], bytes]:
    """What HTTP/1.0 gets until the server hangs up: status, headers, body as it came."""
    framing = [f"Content-Length: {len(body)}"] if body else []
    with Wire(stack.port) as wire:
        head = "\r\n".join([f"{request} HTTP/1.0", "Host: localhost", *headers, *framing, "", ""])
        wire.send(head.encode() + body)
        received = b""
        while piece := wire.socket.recv(65536):
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    known = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    assert "transfer-encoding" not in known
    assert known["connection"] == "close"
    return int(first.split()[1]), known, body


def _posted(stack: Stack, person: Person, path: str, body: object, *headers: str) -> tuple[int, dict[str, str], bytes]:
    known = (f"Authorization: Bearer {person.key}", "Content-Type: application/json", *headers)
    return _asked(stack, f"POST {path}", *known, body=json.dumps(body).encode())


def test_a_stream_is_sent_as_it_is(stack: Stack, tenant: Cast) -> None:
    status, headers, body = _posted(stack, tenant.alice, "/api/v1/chat", {"content": NOTE, "stream": True})
    assert (status, headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    events = sse.parse(body.decode())
    assert (events[0].name, events[-1].name) == ("run.created", "run.completed")
    [call] = events[-1].data["tool_calls"]
    assert call["status"] == "success"
    path, key = f"/api/v1/runs/{events[0].data['run_id']}/events", f"Authorization: Bearer {tenant.alice.key}"
    assert sse.parse(_asked(stack, f"GET {path}", key)[2].decode())[-1] == events[-1]


def test_a_stream_of_the_compatible_api_is_sent_as_it_is(stack: Stack, tenant: Cast) -> None:
    asked = {"model": "offline/demo", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    status, _, body = _posted(stack, tenant.alice, "/v1/chat/completions", asked)
    lines = [line for line in body.decode().split("\n") if line]
    assert (status, lines[-1]) == (200, "data: [DONE]")
    assert all(line.startswith(("data: ", ":")) for line in lines)


def test_a_download_is_sent_as_it_is(stack: Stack, tenant: Cast) -> None:
    stack.chat(tenant.alice, NOTE)
    session = f"Cookie: sessionid={session_of(tenant.alice)}"
    status, _, body = _asked(stack, "GET /history/export.jsonl", session)
    assert status == 200
    assert [json.loads(line)["tool"] for line in body.splitlines()] == ["save_note"]


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [("GET /healthz", 200), ("HEAD /accounts/login/", 200), ("GET /history/", 302), ("GET /nowhere", 404)],
)
def test_an_answer_that_states_its_length_has_it(stack: Stack, request_line: str, expected: int) -> None:
    status, headers, body = _asked(stack, request_line)
    assert status == expected
    assert len(body) == (0 if request_line.startswith("HEAD") else int(headers.get("content-length", len(body))))
