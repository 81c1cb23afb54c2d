"""Answers leave without waiting for the client's acknowledgements, whoever opened the listening socket."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from uvicorn import Config, Server

from gateway.embedded import configuration
from gateway.server import sockets
from gateway.server.connections import Connection, _Lingering
from tests.server.wire import Wire


async def _application(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def _serving(listening: socket.socket) -> Iterator[int]:
    """A server of this process on a listening socket, as `gateway.server` makes it; its port."""
    config = Config(_application, loop="uvloop", http=Connection, lifespan="off", log_config=None)
    server = Server(config)
    port = listening.getsockname()[1]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join()


def _accepted(address: tuple[str, int]) -> socket.socket:
    """This process's end of the connection from an address."""
    for name in os.listdir("/proc/self/fd"):
        try:
            found = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
        try:
            if found.getpeername() == address:
                return found
        except OSError:
            pass
        found.close()
    raise LookupError("there is no such connection")


def _as_make_up() -> socket.socket:
    """What the web process of `make up` inherits."""
    opened = configuration.read().listen()
    inherited = sockets.inherited(os.dup(opened.fileno()))
    opened.close()
    return inherited


@pytest.mark.parametrize("opened", [_as_make_up, lambda: sockets.listen("127.0.0.1", 0)], ids=["make up", "image"])
def test_an_accepted_connection_has_nagles_algorithm_off(
    opened: Callable[[], socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORT", "0")
    with _serving(opened()) as port, Wire(port) as wire:
        wire.head("GET /")
        assert wire.answer().body == b"ok"
        with _accepted(wire.socket.getsockname()) as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
            assert (accepted.family, accepted.proto) == (socket.AF_INET, socket.IPPROTO_TCP)


def test_an_inherited_socket_is_taken_for_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "0")
    with _as_make_up() as inherited:
        assert (inherited.family, inherited.proto) == (socket.AF_INET, socket.IPPROTO_TCP)


def _in_two_segments(client: socket.socket) -> float:
    """How long a request takes whose body follows its head in a segment of its own, in seconds."""
    began = time.perf_counter()
    client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
    client.sendall(b"{}")
    answer = b""
    while not answer.endswith(b"\r\n\r\nok"):
        answer += client.recv(4096)
    return time.perf_counter() - began


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="only Linux acknowledges at once when told to")
def test_a_body_behind_its_head_is_not_waited_for_on_a_connection_that_is_kept_alive() -> None:
    # Neither client turns Nagle's algorithm off. A delayed acknowledgement takes a hundred times as long as the rest,
    # and would come with every request; a busy machine delays some, of both kinds.
    fresh, kept_alive = [], []
    with (
        _serving(sockets.listen("127.0.0.1", 0)) as port,
        socket.create_connection(("127.0.0.1", port)) as kept,
    ):
        for _ in range(20):
            _in_two_segments(kept)
        for _ in range(40):
            with socket.create_connection(("127.0.0.1", port)) as client:
                fresh.append(_in_two_segments(client))
            kept_alive.append(_in_two_segments(kept))
    assert min(kept_alive) < 10 * sorted(fresh)[20]


class _Transport:
    """Records what a connection does with its socket."""

    def __init__(self) -> None:
        self.done: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def close(self) -> None:
        self.done.append("closed")

    def is_closing(self) -> bool:
        return "closed" in self.done


async def test_the_head_of_an_answer_leaves_with_its_body_and_waits_for_no_other_event() -> None:
    transport = _Transport()
    connection: Any = SimpleNamespace(loop=asyncio.get_running_loop(), receives=False)
    closing = _Lingering(cast(asyncio.Transport, transport), connection)
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    closing.write(head)
    assert transport.done == []
    closing.write(b"body")
    closing.write(b"more")
    assert transport.done == [head + b"body", b"more"]
    closing.write(head)
    await asyncio.sleep(0)
    assert transport.done[2:] == [head]
    closing.write(head)
    closing.close()
    assert transport.done[3:] == [head, "closed"]
    await asyncio.sleep(0)
    assert len(transport.done) == 5
