"""Open streams are bounded, of one person and of a web process: nobody's take away what others need."""

import gc
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from django.conf import settings
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tenants.limits.streams import Streams, TooManyOpenStreams
from tests.approvals.requests import held
from tests.people import Cast, Person
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS, until

MOST, MOST_OF_ALL = 3, 5
ELEVATED = 'call: send_email {"to": "bob@example.com", "subject": "a", "body": "b"}'
CHAT: dict[str, Any] = {"content": "hello", "stream": True}
COMPLETION: dict[str, Any] = {
    "model": "offline/demo", "messages": [{"role": "user", "content": "hello"}], "stream": True
}  # fmt: skip


@pytest.fixture(scope="module")
def narrow() -> Iterator[Stack]:
    """A web process with few places."""
    with Stack(TOOLGATE_STREAMS_PER_PERSON=str(MOST), TOOLGATE_STREAMS=str(MOST_OF_ALL)) as stack:
        yield stack


@pytest.fixture
def places(narrow: Stack) -> Iterator[ExitStack]:
    """What keeps streams open until the test is over; then the process has none."""
    with ExitStack() as places:
        yield places
    until(lambda: _open_streams(narrow) == 0)


def _open_streams(stack: Stack) -> int:
    for line in httpx.get(f"{stack.url}/metrics").text.splitlines():
        if line.startswith("toolgate_open_streams "):
            return int(float(line.split()[1]))
    raise LookupError


def _waiting_run(stack: Stack, person: Person) -> str:
    """A run whose events never end by themselves: it waits for a human."""
    answer = stack.chat(person, ELEVATED)
    assert answer.status_code == 202
    return str(answer.json()["run_id"])


def _watch(places: ExitStack, stack: Stack, run: str, **asked: Any) -> httpx.Response:
    """An answer whose stream is open until the test is over, or that is refused."""
    client = places.enter_context(httpx.Client(timeout=PATIENCE_SECONDS))
    return places.enter_context(client.stream("GET", f"{stack.url}/api/v1/runs/{run}/events", **asked))


def _fill(places: ExitStack, stack: Stack, person: Person, count: int) -> str:
    run = _waiting_run(stack, person)
    for _ in range(count):
        assert _watch(places, stack, run, headers=person.headers).status_code == 200
    return run


def _full(answer: httpx.Response) -> None:
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "5"


def test_a_persons_stream_too_many_is_429_over_every_way_and_nobody_else_is_refused(
    narrow: Stack, places: ExitStack, tenant: Cast
) -> None:
    run = _fill(places, narrow, tenant.alice, MOST)
    token = httpx.post(f"{narrow.url}/api/v1/runs/{run}/stream-token", headers=tenant.alice.headers).json()["token"]
    headers = tenant.alice.headers
    for answer in (
        httpx.get(f"{narrow.url}/api/v1/runs/{run}/events", headers=headers),
        httpx.get(f"{narrow.url}/api/v1/runs/{run}/events", params={"token": token}),
        httpx.post(f"{narrow.url}/api/v1/chat", headers=headers, json=CHAT),
        httpx.post(f"{narrow.url}/api/v1/chat", headers=headers | {"Origin": narrow.url}, json=CHAT),
    ):
        _full(answer)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "too_many_streams"
        assert f"You have {MOST} open streams" in answer.json()["detail"]
    for path, body in (
        ("/v1/chat/completions", COMPLETION),
        ("/v1/responses", {"model": "offline/demo", "input": "hello", "stream": True}),
        ("/v1/messages", COMPLETION | {"max_tokens": 10}),
    ):
        answer = httpx.post(narrow.url + path, headers=headers, json=body)
        _full(answer)
        assert "open streams" in answer.json()["error"]["message"]
    # Nothing has begun that was refused, and what is no stream is as before.
    runs = httpx.get(f"{narrow.url}/api/v1/conversations/", headers=headers).json()["results"]
    assert len(runs) == 1
    assert narrow.chat(tenant.alice, "hello").status_code == 200
    with httpx.stream("POST", f"{narrow.url}/api/v1/chat", headers=tenant.bob.headers, json=CHAT) as other:
        assert other.status_code == 200
        assert "run.completed" in other.read().decode()


def test_a_socket_too_many_is_told_so_and_closed_with_4429(narrow: Stack, places: ExitStack, tenant: Cast) -> None:
    address = narrow.url.replace("http", "ws")
    held(tenant.alice)
    sockets = [
        places.enter_context(connect(address + path, additional_headers=tenant.carol.headers))
        for path in ("/ws/approvals/", "/ws/inbox/", "/ws/inbox/")
    ]
    for socket in sockets:
        assert json.loads(socket.recv(PATIENCE_SECONDS))["type"] in ("ready", "unread")
    with connect(f"{address}/ws/approvals/", additional_headers=tenant.carol.headers) as refused:
        said = json.loads(refused.recv(PATIENCE_SECONDS))
        assert (said["type"], said["status"], said["code"]) == ("refused", 429, "too_many_streams")
        with pytest.raises(ConnectionClosed) as closed:
            refused.recv(PATIENCE_SECONDS)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4429, "too_many_streams")
    with connect(f"{address}/ws/approvals/", additional_headers=tenant.olga.headers) as other:
        assert json.loads(other.recv(PATIENCE_SECONDS))["type"] == "ready"
    # Who closes one can open one.
    sockets[0].close()
    until(lambda: _open_streams(narrow) == MOST - 1)
    with connect(f"{address}/ws/approvals/", additional_headers=tenant.carol.headers) as again:
        assert json.loads(again.recv(PATIENCE_SECONDS))["type"] == "ready"


def test_a_standing_stream_of_mcp_is_a_stream_of_its_person(narrow: Stack, places: ExitStack, tenant: Cast) -> None:
    _fill(places, narrow, tenant.alice, MOST)
    listens = {"Accept": "text/event-stream", "Mcp-Session-Id": "a"}
    _full(httpx.get(f"{narrow.url}/mcp", headers=tenant.alice.headers | listens))
    with httpx.stream("GET", f"{narrow.url}/mcp", headers=tenant.bob.headers | listens) as other:
        assert other.status_code == 200


def test_a_process_has_no_more_streams_than_it_may(
    narrow: Stack, places: ExitStack, tenant: Cast, other_tenant: Cast
) -> None:
    _fill(places, narrow, tenant.alice, MOST)
    _fill(places, narrow, tenant.bob, MOST_OF_ALL - MOST)
    run = _waiting_run(narrow, other_tenant.alice)
    answer = httpx.get(f"{narrow.url}/api/v1/runs/{run}/events", headers=other_tenant.alice.headers)
    _full(answer)
    assert f"This web process has {MOST_OF_ALL} open streams" in answer.json()["detail"]


def test_a_client_that_hangs_up_gives_its_place_back(narrow: Stack, places: ExitStack, tenant: Cast) -> None:
    with ExitStack() as first:
        run = _fill(first, narrow, tenant.alice, MOST)
    until(lambda: _open_streams(narrow) == 0)
    for _ in range(MOST):
        assert _watch(places, narrow, run, headers=tenant.alice.headers).status_code == 200


def test_a_place_is_given_back_once_also_by_an_answer_that_never_begins(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "TOOLGATE_STREAMS_PER_PERSON", 2)
    streams = Streams()
    one, two = streams.open(tenant.alice.principal), streams.open(tenant.alice.principal)
    with pytest.raises(TooManyOpenStreams):
        streams.open(tenant.alice.principal)
    one.close()
    one.close()
    assert streams.count() == 1
    del two
    gc.collect()
    assert streams.count() == 0
