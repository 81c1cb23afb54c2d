"""`python -m bench.rig.sdk`: one client on one connection, as the official SDKs and as raw segments.

Reads a Plan as JSON from standard input, and writes median milliseconds: of a chat by way of asking (the openai SDK,
synchronous and asynchronous, and the anthropic SDK; raw sockets that send head and body in one segment, or in two), on
a connection that is kept and on a new one each time; and of each kind of request through the openai SDK and through a
raw socket, on kept connections.
"""

import asyncio
import socket
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import anthropic
import httpx2
import openai
import orjson

from bench.rig.load import _is_whole

SAID: list[Any] = [{"role": "user", "content": "What is on my list, and what did I forget?"}]


@dataclass(frozen=True)
class Kind:
    """A request to /v1/chat/completions: its `model`, and the whole HTTP/1.1 `request`; `first` marks the first token,
    which is what is timed then."""

    model: str
    request: str
    first: str = ""


@dataclass(frozen=True)
class Plan:
    """`times` requests of each kind to the web process at `port`; the kind `chat` is asked in every way."""

    port: int
    key: str
    kinds: dict[str, Kind]
    times: int

    @classmethod
    def read(cls, given: bytes) -> "Plan":
        """The plan in this JSON."""
        plan = orjson.loads(given)
        return cls(**{**plan, "kinds": {name: Kind(**kind) for name, kind in plan["kinds"].items()}})


def _median(ask: Callable[[], float | None], times: int) -> float:
    """In milliseconds, the first one not counted; of what `ask` says that it took, else of all of it."""
    ask()
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        said = ask()
        taken.append(time.perf_counter() - began if said is None else said)
    return 1000 * statistics.median(taken)


def _limits(kept: bool) -> httpx2.Limits:
    """One connection for all requests, or a new one for each."""
    return httpx2.Limits(max_keepalive_connections=1 if kept else 0)


# Each SDK is given a client of its own class: it knows of which library it wants one.
def _openai(plan: Plan, kind: Kind, *, kept: bool = True) -> float:
    with openai.OpenAI(
        base_url=f"http://127.0.0.1:{plan.port}/v1",
        api_key=plan.key,
        http_client=openai.DefaultHttpxClient(limits=_limits(kept)),
    ) as client:

        def whole() -> None:
            client.chat.completions.create(model=kind.model, messages=SAID)

        def streamed() -> float:
            began = time.perf_counter()
            first = 0.0
            for chunk in client.chat.completions.create(model=kind.model, messages=SAID, stream=True):
                if not first and chunk.choices and chunk.choices[0].delta.content:
                    first = time.perf_counter() - began
            return first

        return _median(streamed if kind.first else whole, plan.times)


async def _openai_async(plan: Plan, kind: Kind, *, kept: bool) -> float:
    taken = []
    async with openai.AsyncOpenAI(
        base_url=f"http://127.0.0.1:{plan.port}/v1",
        api_key=plan.key,
        http_client=openai.DefaultAsyncHttpxClient(limits=_limits(kept)),
    ) as client:
        for _ in range(plan.times + 1):
            began = time.perf_counter()
            await client.chat.completions.create(model=kind.model, messages=SAID)
            taken.append(time.perf_counter() - began)
    return 1000 * statistics.median(taken[1:])


def _anthropic(plan: Plan, kind: Kind, *, kept: bool) -> float:
    with anthropic.Anthropic(
        base_url=f"http://127.0.0.1:{plan.port}",
        api_key=plan.key,
        http_client=anthropic.DefaultHttpxClient(limits=_limits(kept)),
    ) as client:

        def ask() -> None:
            client.messages.create(model=kind.model, messages=SAID, max_tokens=1000)

        return _median(ask, plan.times)


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _asked(connection: socket.socket, segments: list[bytes], first: bytes = b"") -> float | None:
    """Send, and read the whole answer; with `first`, how long it took until that came."""
    began, heard = time.perf_counter(), None
    for segment in segments:
        connection.sendall(segment)
    answer = b""
    while not _is_whole(answer):
        data = connection.recv(65536)
        if not data:
            raise RuntimeError(f"hung up after {answer[:200]!r}")
        answer += data
        if first and heard is None and first in answer:
            heard = time.perf_counter() - began
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(answer[:500].decode(errors="replace"))
    return heard


def _segments(plan: Plan, kind: Kind, *, kept: bool = True, two: bool = False) -> float:
    head, _, body = kind.request.encode().partition(b"\r\n\r\n")
    segments = [head + b"\r\n\r\n", body] if two else [kind.request.encode()]
    if kept:
        with closing(_connect(plan.port)) as connection:
            return _median(lambda: _asked(connection, segments, kind.first.encode()), plan.times)

    def once() -> None:
        with closing(_connect(plan.port)) as connection:
            _asked(connection, segments)

    return _median(once, plan.times)


def ways(plan: Plan) -> dict[str, dict[str, float]]:
    """Median milliseconds of a chat by way of asking, on a kept and on a new connection."""
    chat = plan.kinds["chat"]
    asking: dict[str, Callable[[bool], float]] = {
        "openai SDK": lambda kept: _openai(plan, chat, kept=kept),
        "openai SDK, async": lambda kept: asyncio.run(_openai_async(plan, chat, kept=kept)),
        "anthropic SDK": lambda kept: _anthropic(plan, chat, kept=kept),
        "one segment": lambda kept: _segments(plan, chat, kept=kept),
        "head and body apart": lambda kept: _segments(plan, chat, kept=kept, two=True),
    }
    return {name: {"kept": way(True), "new": way(False)} for name, way in asking.items()}


def kinds(plan: Plan) -> dict[str, dict[str, float]]:
    """Median milliseconds of each kind of request on kept connections, through the openai SDK and a raw socket."""
    return {name: {"sdk": _openai(plan, kind), "raw": _segments(plan, kind)} for name, kind in plan.kinds.items()}


if __name__ == "__main__":
    given = Plan.read(sys.stdin.buffer.read())
    sys.stdout.buffer.write(orjson.dumps({"ways": ways(given), "kinds": kinds(given)}))
