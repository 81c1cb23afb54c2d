"""`python -m bench.rig.load`: the load generator, a process of its own on raw sockets.

Reads a Plan as JSON from standard input and writes a Result as JSON. Each connection sends its next request when
the answer to its last one is whole (a closed loop), so a slow server is asked less often, not queued up against.
"""

import asyncio
import re
import resource
import sys
import time
from dataclasses import asdict, dataclass
from typing import cast

import orjson
import uvloop

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED_END = b"0\r\n\r\n"
# An answer that has not come this long after the end of the plan counts as an error.
PATIENCE = 20.0


@dataclass(frozen=True)
class Plan:
    """What to send: `requests` are whole HTTP/1.1 requests, taken in turn by the connections.

    An answer is right when its status is 200 and it holds `expected`; `first` marks the first token of a stream.
    `times` is how many requests to send in all, instead of for how long (0).
    """

    port: int
    requests: list[str]
    concurrency: int
    seconds: float
    warm_seconds: float
    expected: str
    first: str = ""
    times: int = 0


@dataclass(frozen=True)
class Result:
    """Latencies in milliseconds of answers within the measured seconds; `total` counts every answer, also warm ones."""

    per_second: float
    p50: float
    p95: float
    first_p50: float | None
    first_p95: float | None
    measured: int
    total: int
    errors: int
    first_error: str
    seconds: float
    own_cpu_ms: float


class Run:
    """What all connections share: the plan, and what came of it."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.requests = [request.encode() for request in plan.requests]
        self.expected, self.first = plan.expected.encode(), plan.first.encode()
        self.answers: list[tuple[float, float, float | None]] = []  # (end, latency, first token), seconds
        self.errors: list[str] = []
        self.sent = 0
        self.began = time.perf_counter()
        self.open = 0
        self.done = asyncio.Event()

    def next_request(self) -> bytes | None:
        """What to send next, or None when the plan is fulfilled."""
        over = self.sent >= self.plan.times if self.plan.times else time.perf_counter() >= self.end
        if over:
            return None
        self.sent += 1
        return self.requests[self.sent % len(self.requests)]

    @property
    def end(self) -> float:
        """When to send no more."""
        return self.began + self.plan.warm_seconds + self.plan.seconds

    def closed(self) -> None:
        """A connection has nothing more to do."""
        self.open -= 1
        if self.open == 0:
            self.done.set()

    def result(self) -> Result:
        """What is reported."""
        start, end = self.began + self.plan.warm_seconds, self.end
        measured = [each for each in self.answers if self.plan.times or start <= each[0] < end]
        latencies = sorted(latency for _, latency, _ in measured)
        firsts = sorted(first for _, _, first in measured if first is not None)
        seconds = time.perf_counter() - self.began if self.plan.times else self.plan.seconds
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return Result(
            per_second=len(measured) / seconds,
            p50=_percentile(latencies, 0.5),
            p95=_percentile(latencies, 0.95),
            first_p50=_percentile(firsts, 0.5) if firsts else None,
            first_p95=_percentile(firsts, 0.95) if firsts else None,
            measured=len(measured),
            total=len(self.answers),
            errors=len(self.errors),
            first_error=self.errors[0] if self.errors else "",
            seconds=seconds,
            own_cpu_ms=1000 * (usage.ru_utime + usage.ru_stime),
        )


def _percentile(ordered: list[float], share: float) -> float:
    """In milliseconds; 0 of nothing."""
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class Connection(asyncio.Protocol):
    """One keep-alive connection with at most one request under way."""

    transport: asyncio.Transport

    def __init__(self, run: Run):
        self._run = run
        self._pieces = b""
        self._sent: float = 0
        self._first: float | None = None
        self._ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self.transport = cast(asyncio.Transport, transport)
        self._next()

    def data_received(self, data: bytes) -> None:
        """Take in a piece of an answer; when it is whole, send the next request."""
        self._pieces += data
        if self._run.first and self._first is None and self._run.first in self._pieces:
            self._first = time.perf_counter() - self._sent
        if not _is_whole(self._pieces):
            return
        now = time.perf_counter()
        if self._pieces.startswith(b"HTTP/1.1 200") and self._run.expected in self._pieces:
            self._run.answers.append((now, now - self._sent, self._first))
        else:
            self._run.errors.append(self._pieces[:2000].decode(errors="replace"))
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        """A connection that ends before its plan does is an error."""
        if not self._ended:
            self._run.errors.append(f"connection lost: {error!r}")
            self._run.closed()

    def _next(self) -> None:
        request = self._run.next_request()
        if request is None:
            self._ended = True
            self.transport.close()
            self._run.closed()
            return
        self._pieces, self._first, self._sent = b"", None, time.perf_counter()
        self.transport.write(request)


def _is_whole(answer: bytes) -> bool:
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    length = _LENGTH.search(answer, 0, end + 2)
    if length:
        return len(answer) >= end + 4 + int(length[1])
    return answer.endswith(_CHUNKED_END)


async def run(plan: Plan) -> Result:
    """Carry the plan out."""
    execution = Run(plan)
    execution.open = plan.concurrency
    for _ in range(plan.concurrency):
        await asyncio.get_running_loop().create_connection(lambda: Connection(execution), "127.0.0.1", plan.port)
    try:
        async with asyncio.timeout(plan.warm_seconds + plan.seconds + PATIENCE):
            await execution.done.wait()
    except TimeoutError:
        execution.errors += ["no answer"] * execution.open
    return execution.result()


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(asdict(uvloop.run(run(Plan(**orjson.loads(sys.stdin.buffer.read())))))))
