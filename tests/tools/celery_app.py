"""A Celery application for tests of messages and of the pool: `celery -A tests.tools.celery_app worker`.

It notes in Redis what starts and ends, and lets nothing end before somebody opens the gate there.
"""

import asyncio
import os
from typing import Any

from celery import Celery
from celery.signals import worker_shutting_down
from redis import Redis

from tools.network import redis
from tools.worker import background
from tools.worker.background import Lane
from tools.worker.broker import Messaging

app = Celery("tests", amqp=Messaging, broker=os.environ["REDIS_URL"])
app.conf.update(
    worker_pool="tools.worker.pool:TaskPool",
    worker_prefetch_multiplier=int(os.environ.get("PREFETCH", "128")),
    broker_transport_options={"global_keyprefix": "toolgate:"},
    task_ignore_result=True,
)


_noting = asyncio.Lock()
_open = asyncio.Event()


async def _noted(*arguments: str) -> None:
    await redis.client().rpush("started", ":".join(arguments))
    # One of them looks for all.
    async with _noting:
        while not _open.is_set():
            if await redis.client().exists("gate"):
                _open.set()
            await asyncio.sleep(0.02)
    await redis.client().rpush("ended", ":".join(arguments))


@background.task("tests.local", Lane.LOCAL)
async def local(*arguments: str) -> None:
    """Work that takes a local slot."""
    await _noted(*arguments)


@background.task("tests.remote", Lane.REMOTE)
async def remote(*arguments: str) -> None:
    """Work that takes a remote slot."""
    await _noted(*arguments)


@background.task("tests.failing", Lane.LOCAL)
async def failing(*arguments: str) -> None:
    """Work that fails."""
    raise ZeroDivisionError


@app.task(name="tests.plain")
def plain(*arguments: str) -> None:
    """A task that is not made for the pool."""
    with Redis.from_url(os.environ["REDIS_URL"]) as client:
        client.rpush("started", ":".join(arguments))


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _shutting_down(**signal: Any) -> None:
    background.drain(0)
    # Celery's own line comes before. Nothing may write through Python's streams here, where a signal has come.
    os.write(1, b"begins nothing more\n")
    background.drain(float(os.environ.get("DRAIN", "60")))
