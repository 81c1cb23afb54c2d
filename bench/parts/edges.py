"""What a call pays at its edges, beside how a library would do it with threads: `python -m bench.parts.edges`.

A rate limit counted, a turn's messages published, and a message taken by a worker: CPU per call in ms, of this process
or of the worker, each way several times in turn and the least of them.
"""

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from gateway.embedded.services.together import EmbeddedServices

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
ROOT = Path(__file__).resolve().parent.parent.parent
CALLS, TOGETHER, ROUNDS, MESSAGES = 480, 16, 3, 1000


def _cpu(whose: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


async def _ms_each(once: Callable[[], Awaitable[Any]]) -> float:
    """CPU of this process for CALLS of them, TOGETHER at a time."""

    async def several() -> None:
        for _ in range(CALLS // TOGETHER):
            await once()

    await once()
    before = _cpu()
    await asyncio.gather(*(several() for _ in range(TOGETHER)))
    return (_cpu() - before) * 1000 / CALLS


def _ways() -> dict[str, tuple[Callable[[], Awaitable[Any]], Callable[[], Awaitable[Any]]]]:
    from celery import current_app
    from django_ratelimit.core import get_usage

    from tools.gates import rate_counter
    from tools.network import messages

    threads = ThreadPoolExecutor(4)
    who = {"tenant_id": uuid.uuid4(), "user_id": uuid.uuid4(), "tool": "list_tasks", "rate": "1000000/d"}
    ids = [str(uuid.uuid4()) for _ in range(3)]

    def usage() -> Any:
        return get_usage(None, group="tool", key=lambda *_: str(who["user_id"]), rate="1000000/d", increment=True)

    def publish(count: int) -> None:
        for _ in range(count):
            current_app.send_task("bench.nothing", args=ids, ignore_result=True, retry=False)

    async def in_thread(work: Callable[..., Any], *given: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(threads, work, *given)

    return {
        "rate limit": (lambda: in_thread(usage), lambda: rate_counter.charge(**who)),  # type: ignore[arg-type]
        "a message": (lambda: in_thread(publish, 1), lambda: messages.send([("bench.nothing", ids)])),
        "eight messages": (lambda: in_thread(publish, 8), lambda: messages.send([("bench.nothing", ids)] * 8)),
    }


async def _web() -> None:
    from tools.network import redis

    for name, (threaded, ours) in _ways().items():
        rounds = [(await _ms_each(threaded), await _ms_each(ours)) for _ in range(ROUNDS)]
        _line(name, min(old for old, _ in rounds), min(new for _, new in rounds))
        await redis.client().flushdb()
    await redis.close()


def _line(name: str, threaded: float, ours: float) -> None:
    print(f"  {name:<16} threads {threaded:6.3f} ms   event loop {ours:6.3f} ms   {threaded / ours:4.1f} x")


def _worker(pool: list[str]) -> float:
    """CPU of a worker for each of MESSAGES, less what it takes to start and end."""
    used = []
    for count in (1, MESSAGES + 1):
        before = _cpu(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "celery", "-A", "bench.parts.edges_worker", "--quiet", "worker", *pool]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--concurrency", "8"]
        subprocess.run([*command, *quiet], cwd=ROOT, env=os.environ | {"MESSAGES": str(count)}, check=True)
        used.append(_cpu(resource.RUSAGE_CHILDREN) - before)
    return (used[1] - used[0]) * 1000 / MESSAGES


def main() -> None:
    """Print a line for each edge."""
    directory = Path(tempfile.mkdtemp(prefix="toolgate-edges-"))
    with EmbeddedServices(directory, durable=False, postgres=False) as services:
        urls = dict.fromkeys(("DATABASE_URL", "DATABASE_SYSTEM_URL", "DATABASE_OPERATOR_URL"), NOWHERE)
        os.environ |= urls | {"REDIS_URL": services.redis_url, "TOOLGATE_DATA_DIR": str(directory)}
        os.environ["DJANGO_SETTINGS_MODULE"] = "gateway.config.settings"
        import django

        django.setup()
        asyncio.run(_web())
        rounds = [(_worker(["--pool", "threads"]), _worker([])) for _ in range(1)]
        _line("taken by worker", min(old for old, _ in rounds), min(new for _, new in rounds))


if __name__ == "__main__":
    began = time.monotonic()
    main()
    print(f"  after {time.monotonic() - began:.0f} s")
