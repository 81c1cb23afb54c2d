"""`python -m bench.sdk`: one client on one connection, as the official SDKs and as raw segments.

Reads a Plan as JSON from standard input, and writes the median milliseconds of a request by way of asking: the openai
SDK, synchronous and asynchronous, and the anthropic SDK, on a connection that it keeps and on a new one each time; and
raw sockets that send head and body in one segment, or in two.
"""

import asyncio
import socket
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import anthropic
import httpx2
import openai
import orjson

from bench.load import _is_whole


@dataclass(frozen=True)
class Plan:
    """`times` requests of each kind to the web process at `port`; `request` is a whole HTTP/1.1 request."""

    port: int
    key: str
    model: str
    request: str
    times: int


def _median(ask: Callable[[], object], times: int) -> float:
    """In milliseconds, the first one not counted."""
    ask()
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - began)
    return 1000 * statistics.median(taken)


def _limits(kept: bool) -> httpx2.Limits:
    """One connection for all requests, or a new one for each."""
    return httpx2.Limits(max_keepalive_connections=1 if kept else 0)


def _sdk(plan: Plan, *, kept: bool) -> float:
    # Each SDK's own class: it knows of which library it wants a client.
    with openai.OpenAI(
        base_url=f"http://127.0.0.1:{plan.port}/v1",
        api_key=plan.key,
        http_client=openai.DefaultHttpxClient(limits=_limits(kept)),
    ) as client:
        said = [{"role": "user", "content": "What is on my list?"}]
        return _median(lambda: client.chat.completions.create(model=plan.model, messages=said), plan.times)  # type: ignore


async def _sdk_async(plan: Plan, *, kept: bool) -> float:
    taken = []
    async with openai.AsyncOpenAI(
        base_url=f"http://127.0.0.1:{plan.port}/v1",
        api_key=plan.key,
        http_client=openai.DefaultAsyncHttpxClient(limits=_limits(kept)),
    ) as client:
        for _ in range(plan.times + 1):
            began = time.perf_counter()
            said = [{"role": "user", "content": "What is on my list?"}]
            await client.chat.completions.create(model=plan.model, messages=said)  # type: ignore
            taken.append(time.perf_counter() - began)
    return 1000 * statistics.median(taken[1:])


def _anthropic(plan: Plan, *, kept: bool) -> float:
    with anthropic.Anthropic(
        base_url=f"http://127.0.0.1:{plan.port}",
        api_key=plan.key,
        http_client=anthropic.DefaultHttpxClient(limits=_limits(kept)),
    ) as client:
        said = [{"role": "user", "content": "What is on my list?"}]
        return _median(
            lambda: client.messages.create(model=plan.model, messages=said, max_tokens=1000),  # type: ignore
            plan.times,
        )


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _asked(connection: socket.socket, segments: list[bytes]) -> None:
    for segment in segments:
        connection.sendall(segment)
    answer = b""
    while not _is_whole(answer):
        data = connection.recv(65536)
        if not data:
            raise RuntimeError(f"hung up after {answer[:200]!r}")
        answer += data
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(answer[:500].decode(errors="replace"))


def _segments(plan: Plan, *, kept: bool, two: bool) -> float:
    head, _, body = plan.request.encode().partition(b"\r\n\r\n")
    segments = [head + b"\r\n\r\n", body] if two else [plan.request.encode()]
    if kept:
        with closing(_connect(plan.port)) as connection:
            return _median(lambda: _asked(connection, segments), plan.times)

    def once() -> None:
        with closing(_connect(plan.port)) as connection:
            _asked(connection, segments)

    return _median(once, plan.times)


def run(plan: Plan) -> dict[str, dict[str, float]]:
    """Median milliseconds by way of asking, on a kept and on a new connection."""
    ways: dict[str, Callable[[bool], float]] = {
        "openai SDK": lambda kept: _sdk(plan, kept=kept),
        "openai SDK, async": lambda kept: asyncio.run(_sdk_async(plan, kept=kept)),
        "anthropic SDK": lambda kept: _anthropic(plan, kept=kept),
        "one segment": lambda kept: _segments(plan, kept=kept, two=False),
        "head and body apart": lambda kept: _segments(plan, kept=kept, two=True),
    }
    return {name: {"kept": way(True), "new": way(False)} for name, way in ways.items()}


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(run(Plan(**orjson.loads(sys.stdin.buffer.read())))))
