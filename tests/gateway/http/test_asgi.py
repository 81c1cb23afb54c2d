"""A request on bare ASGI: its body within its bound, and every exception as one answer in the form of the API."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import django.db
import orjson
import psycopg
import pytest

from gateway.compat.vendor_errors import TooLarge, VendorForm, of_nobody
from gateway.http import asgi
from gateway.http.asgi import Answer, Form, Request
from gateway.http.bodies import json_object
from gateway.http.errors import InvalidKey, MissingScope
from gateway.http.problems import Problems
from gateway.runs.errors import InvalidRequest, Leaving, Unavailable
from tenants.errors import Refused

PROBLEMS, VENDOR = Problems(), VendorForm(of_nobody)
MOST = 10


class Client:
    """What one client sends, in pieces, and what it was answered."""

    def __init__(self, *pieces: bytes, hangs_up: bool = False, **headers: str):
        self._messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": piece, "more_body": hangs_up or at + 1 < len(pieces)}
            for at, piece in enumerate(pieces or (b"",))
        ]
        self._messages.append({"type": "http.disconnect"})
        self.taken = 0
        self._headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        self.sent: list[dict[str, Any]] = []

    async def _receive(self) -> dict[str, Any]:
        self.taken += 1
        return self._messages.pop(0)

    async def _send(self, message: Any) -> None:
        self.sent.append(dict(message))

    async def ask(self, handler: Callable[[Request], Awaitable[None]], form: Form = PROBLEMS) -> None:
        scope = {"type": "http", "path": "/", "method": "POST", "headers": self._headers}
        await asgi.serve(form, scope, self._receive, self._send, handler)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def json(self) -> Any:
        return orjson.loads(b"".join(message["body"] for message in self.sent[1:]))


def raising(error: BaseException) -> Callable[[Request], Awaitable[None]]:
    """A handler that comes to nothing."""

    async def handle(request: Request) -> None:
        raise error

    return handle


async def echo(request: Request) -> None:
    """Answers with the body."""
    body = await request.body(MOST, TooLarge)
    await request.answer(Answer(200, json_object(body, InvalidRequest)))


# --- bodies ----------------------------------------------------------------------------------------------------------
async def test_a_body_is_read_whole_in_however_many_pieces_it_comes() -> None:
    client = Client(b'{"a"', b":", b"1}")
    await client.ask(echo)
    assert (client.status, client.json) == (200, {"a": 1})


async def test_a_body_that_announces_too_much_is_refused_before_any_of_it_is_read() -> None:
    client = Client(b'{"a":1}', content_length=str(MOST + 1))
    await client.ask(echo)
    assert (client.status, client.json["code"], client.taken) == (413, "request_too_large", 0)


async def test_a_body_that_announces_nothing_is_refused_once_it_is_too_much() -> None:
    client = Client(b"x" * MOST, b"x", b"x" * 1000)
    await client.ask(echo)
    assert (client.status, client.taken) == (413, 2)


async def test_a_length_that_is_no_number_counts_for_nothing() -> None:
    client = Client(b"{}", content_length="-5")
    await client.ask(echo)
    assert client.status == 200


async def test_who_hangs_up_before_the_body_is_whole_is_answered_nothing() -> None:
    client = Client(b"{", hangs_up=True)
    await client.ask(echo)
    assert client.sent == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b"\xff", b'{"a":NaN}'])
async def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    client = Client(body)
    await client.ask(echo)
    assert (client.status, client.json["code"]) == (400, "invalid_request")


async def test_json_that_could_not_be_written_again_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="nested too deeply"):
        json_object(b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", InvalidRequest)


# --- errors ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("error", "status", "code", "headers"),
    [
        (InvalidRequest("No.", "content"), 400, "invalid_request", {}),
        (InvalidKey(), 401, "unauthenticated", {"www-authenticate": 'Bearer realm="toolgate"'}),
        (MissingScope("chat"), 403, "forbidden", {}),
        (Unavailable(), 503, "unavailable", {"retry-after": "2"}),
        (Leaving(), 503, "unavailable", {"retry-after": "2"}),
        (psycopg.OperationalError("secret"), 503, "unavailable", {"retry-after": "2"}),
        (django.db.OperationalError("secret"), 503, "unavailable", {"retry-after": "2"}),
        (RuntimeError("secret"), 500, "internal_error", {}),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else "",
)
@pytest.mark.parametrize("form", [PROBLEMS, VENDOR])
async def test_every_exception_is_one_answer_in_the_form_of_the_api(
    error: Exception, status: int, code: str, headers: dict[str, str], form: Form
) -> None:
    client = Client(x_request_id="mine")
    await client.ask(raising(error), form)
    found = client.json if form is PROBLEMS else client.json["error"]
    assert (client.status, found["code"], len(client.sent)) == (status, code, 2)
    assert "secret" not in orjson.dumps(client.json).decode()
    assert client.headers.items() >= headers.items()
    assert client.headers["x-request-id"] == "mine"
    assert (client.headers["x-content-type-options"], client.headers["cache-control"]) == ("nosniff", "no-store")
    assert client.headers["content-type"] == ("application/problem+json" if form is PROBLEMS else "application/json")


async def test_a_vendors_client_does_not_ask_again_by_itself_when_the_process_leaves() -> None:
    client = Client()
    await client.ask(raising(Leaving()), VENDOR)
    assert client.headers["x-should-retry"] == "false"
    assert client.headers["request-id"] == client.headers["x-request-id"]


async def test_what_goes_with_a_refusal_is_in_the_answer() -> None:
    refusal = Refused("No.")
    refusal.more = {"approval": "a"}
    ours, theirs = Client(), Client()
    await ours.ask(raising(refusal))
    await theirs.ask(raising(refusal), VENDOR)
    assert ours.json["approval"] == "a"
    assert theirs.json["toolgate"] == {"approval": "a"}


async def test_a_stream_that_fails_is_cut_and_not_answered_twice() -> None:
    closed = []

    async def pieces() -> Any:
        try:
            yield b"one"
            raise RuntimeError
        finally:
            closed.append(True)

    async def handle(request: Request) -> None:
        await request.stream(pieces(), "text/event-stream", {"Cache-Control": "no-cache"})

    client = Client()
    with pytest.raises(RuntimeError):
        await client.ask(handle)
    assert [message["type"] for message in client.sent] == ["http.response.start", "http.response.body"]
    assert client.headers["cache-control"] == "no-cache"
    assert closed == [True]


async def test_the_end_of_the_process_is_nobodys_answer() -> None:
    client = Client()
    with pytest.raises(asyncio.CancelledError):
        await client.ask(raising(asyncio.CancelledError()))
    assert client.sent == []
