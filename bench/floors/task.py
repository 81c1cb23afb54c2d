"""A bare Celery round trip: a task that only publishes its reply, and a client that sends it and awaits the reply.

As a Celery app it is `bench.floors.task`; `python -m bench.floors.task CONCURRENCY SECONDS` is the client.
"""

import asyncio
import itertools
import os
import sys

import redis
import redis.asyncio
import uvloop
from celery import Celery

from bench.floors.timing import timed

REPLIES = "bench:replies"
app = Celery("bench", broker=os.environ["REDIS_URL"])
app.conf.update(
    task_ignore_result=True,
    task_default_queue="bench",
    worker_pool="threads",
    worker_prefetch_multiplier=8,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
)
_replies = redis.Redis.from_url(os.environ["REDIS_URL"])


@app.task(name="bench.nothing")
def nothing(number: str) -> None:
    """Reply."""
    _replies.publish(REPLIES, number)


async def main(concurrency: int, seconds: float) -> None:
    """Time round trips."""
    waiting: dict[bytes, asyncio.Future[None]] = {}
    numbers = itertools.count()
    client = redis.asyncio.Redis.from_url(os.environ["REDIS_URL"])
    pubsub = client.pubsub(ignore_subscribe_messages=True)
    await pubsub.subscribe(REPLIES)

    async def listen() -> None:
        async for message in pubsub.listen():
            waiting.pop(message["data"]).set_result(None)

    async def once(_: int) -> None:
        number = str(next(numbers))
        reply = waiting[number.encode()] = asyncio.get_running_loop().create_future()
        app.send_task("bench.nothing", args=[number], ignore_result=True)
        await reply

    listener = asyncio.create_task(listen())
    await timed(once, concurrency, seconds)
    listener.cancel()
    await client.aclose()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), float(sys.argv[2])))
