"""A request's head is bounded, and a request that does not arrive is ended without anybody else's noticing."""

import asyncio
import os
import resource
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import product
from typing import Any

import httpx
import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from gateway.server.connections import Connection
from tests.server.wire import Answer, Wire
from tests.stack import Stack

PATHS = {"/healthz": "text/plain; charset=utf-8", "/api/v1/chat": "application/problem+json",
         "/v1/messages": "application/json", "/v1/responses": "application/json"}  # fmt: skip


ASKED = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POSTED = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"


async def _hello(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"Hello"})


@pytest.fixture(scope="module")
def hasty() -> Iterator[Stack]:
    """A Toolgate that waits for a request's head or body for three seconds."""
    with Stack(TOOLGATE_HEADER_SECONDS="3", TOOLGATE_BODY_SECONDS="3") as running:
        yield running


def _refused(answer: Answer, path: str, status: int) -> None:
    assert answer.status == status, answer
    assert answer.headers["content-type"] == PATHS[path]
    assert answer.headers["connection"] == "close"
    assert answer.headers["x-request-id"]
    if path == "/api/v1/chat":
        assert answer.json()["status"] == status
    elif path.startswith("/v1/"):
        assert answer.json()["error"]["message"]


@pytest.mark.parametrize("path", PATHS)
def test_a_head_that_is_too_long_is_431(stack: Stack, path: str) -> None:
    for headers in (["X-Long: " + "x" * 70_000], [f"X-{n}: " + "x" * 5000 for n in range(15)]):
        with Wire(stack.port) as wire:
            wire.head(f"POST {path}", *headers)
            _refused(wire.answer(), path, 431)
            assert wire.ended()


def test_a_head_of_too_many_headers_is_431(stack: Stack) -> None:
    for count, status in ((99, 200), (100, 431)):
        with Wire(stack.port) as wire:
            wire.head("GET /healthz", *(f"X-{n}: x" for n in range(count)))
            assert wire.answer().status == status


@pytest.mark.parametrize("piece", [b"x" * 1000, b"X: " + b"y" * 997], ids=["one line", "continued"])
@pytest.mark.parametrize("begin", [b"GET /healthz?", b"GET /healthz HTTP/1.1\r\nX-Long: "], ids=["address", "header"])
def test_a_line_that_does_not_end_is_431(stack: Stack, begin: bytes, piece: bytes) -> None:
    with Wire(stack.port) as wire:
        wire.send(begin)
        assert wire.send_until_answered(piece.replace(b" ", b"_"), 10_000_000) < 10_000_000
        assert wire.answer().status == 431
        assert wire.ended()


def test_headers_behind_a_body_are_bounded_and_are_no_headers(stack: Stack) -> None:
    with Wire(stack.port) as wire:
        wire.head("POST /api/v1/conversations/", "Transfer-Encoding: chunked")
        wire.send(b"2\r\n{}\r\n0\r\nAuthorization: Bearer tg_x\r\n\r\n")
        assert wire.answer().json()["code"] == "unauthenticated"
        wire.head("POST /healthz", "Transfer-Encoding: chunked")
        wire.send(b"0\r\n")
        assert wire.send_until_answered(b"X-More: " + b"x" * 1000 + b"\r\n", 10_000_000) < 10_000_000


@pytest.mark.parametrize("path", PATHS)
def test_what_is_no_http_is_400_in_the_form_of_what_was_asked(stack: Stack, path: str) -> None:
    with Wire(stack.port) as wire:
        wire.send(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n".encode())
        _refused(wire.answer(), path, 400)
        assert wire.ended()


# All at once: each waits for the same three seconds.
def test_a_head_that_does_not_arrive_is_408(hasty: Stack) -> None:
    with ExitStack() as entered:
        wires: dict[str, Wire] = {}
        for path in PATHS:
            wire = wires[path] = entered.enter_context(Wire(hasty.port))
            wire.send(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Un".encode())
        for path, wire in wires.items():
            _refused(wire.answer(), path, 408)
            assert wire.ended()


def test_a_body_that_does_not_arrive_is_408(hasty: Stack) -> None:
    with ExitStack() as entered:
        wires: list[tuple[str, Wire]] = []
        for path, framing in product(
            ("/healthz", "/api/v1/chat"), ("Content-Length: 100", "Transfer-Encoding: chunked")
        ):
            wire = entered.enter_context(Wire(hasty.port))
            wires.append((path, wire))
            wire.head(f"POST {path}", framing)
            wire.send(b"5\r\nhe")
        for path, wire in wires:
            _refused(wire.answer(), path, 408)
            assert wire.ended()


async def test_what_came_while_the_process_stood_still_is_read_though_the_time_is_up() -> None:
    made: list[Connection] = []
    config = Config(_hello, http=Connection, lifespan="off", log_config=None)
    config.load()

    def connection() -> Connection:
        made.append(Connection(config=config, server_state=ServerState(), app_state={}))
        return made[0]

    server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0)
    pieces = [(b"", ASKED), (ASKED[:20], ASKED[20:]), (POSTED[:-1], POSTED[-1:])]
    for begun, rest in pieces:
        made.clear()
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(begun)
        while not made or (begun and not made[0].receives):
            await asyncio.sleep(0.01)
        writer.write(rest)
        # As a timer does that runs before the rest is read.
        made[0]._time_is_up()
        assert (await reader.readline()).startswith(b"HTTP/1.1 200"), (begun, rest)
        writer.close()
    server.close()


def test_a_client_that_says_nothing_is_hung_up_on(hasty: Stack) -> None:
    with Wire(hasty.port) as silent, Wire(hasty.port) as blank:
        blank.send(b"\r\n")
        assert silent.ended()
        assert blank.ended()


def test_blank_lines_do_not_keep_an_answered_connection(hasty: Stack) -> None:
    with Wire(hasty.port) as wire:
        wire.head("GET /healthz")
        assert wire.answer().status == 200
        wire.send(b"\r\n")
        assert wire.ended()


def test_two_hundred_who_send_slowly_hinder_nobody_and_are_ended(hasty: Stack) -> None:
    with ExitStack() as entered:
        slow = []
        for number in range(200):
            # At once: who has said nothing is hung up on without an answer.
            slow.append(entered.enter_context(Wire(hasty.port)))
            slow[-1].send(
                b"GET /healthz HTTP/1.1\r\nX-Slow: " if number % 2 else b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n"
            )
        for _ in range(20):
            assert httpx.get(f"{hasty.url}/healthz").status_code == 200
        assert {wire.answer().status for wire in slow} == {408}
        assert all(wire.ended() for wire in slow)


def test_requests_in_one_piece_are_answered_one_after_the_other(stack: Stack) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Padding: " + b"x" * 20_000 + b"\r\n\r\n"
    with Wire(stack.port) as wire:
        wire.send(one * 10)
        assert [wire.answer().status for _ in range(10)] == [200] * 10


def test_a_client_that_hangs_up_in_the_middle_leaves_the_server_working(stack: Stack) -> None:
    for said in (b"GET /hea", b"POST /api/v1/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"):
        with Wire(stack.port) as wire:
            wire.send(said)
            wire.socket.shutdown(socket.SHUT_RDWR)
    assert httpx.get(f"{stack.url}/healthz").status_code == 200
    assert "Traceback" not in stack.log("web")


def test_more_connections_than_a_shell_allows_files_keep_nobody_out() -> None:
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (256, 2048))
    with Stack(popen=partial(subprocess.Popen, preexec_fn=few)) as limited, ExitStack() as open_ones:
        for _ in range(400):
            open_ones.enter_context(Wire(limited.port))
        with Wire(limited.port) as wire:
            wire.head("GET /healthz")
            assert wire.answer().status == 200
        assert len(os.listdir(f"/proc/{limited.processes['web'].pid}/fd")) > 400
