"""What a worker takes from the broker by itself, and what it leaves to Celery's consumer."""

import asyncio
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from celery import Celery
from django.test import override_settings

from tests.tools.workers import Queue
from tests.waiting import eventually, until
from tools.network import messages


@pytest.fixture
def queue() -> Iterator[Queue]:
    """A broker where no worker listens but those of the test, which this process publishes to."""
    with Queue() as queue, override_settings(REDIS_URL=queue.url):
        yield queue


async def test_a_worker_holds_so_many_messages_without_a_slot_and_leaves_the_rest_to_others(queue: Queue) -> None:
    await messages.send([("tests.local", ["a", str(number)]) for number in range(200)])
    queue.start("--concurrency", "1", PREFETCH="20")
    until(lambda: queue.waiting() == 200 - 1 - 20, queue.log)
    other = queue.start("--concurrency", "1", PREFETCH="20")
    until(lambda: queue.waiting() == 200 - 2 - 40, queue.log)
    queue.end(other, signal.SIGKILL)
    queue.redis.set("gate", 1)
    # All but what the killed one had.
    assert len(set(queue.noted("ended", 200 - 21))) == 200 - 21


async def test_messages_with_conditions_of_celerys_are_run_as_celery_runs_them(queue: Queue) -> None:
    queue.redis.set("gate", 1)
    with Celery("sender", broker=queue.url) as sender:
        sender.conf.broker_transport_options = {"global_keyprefix": "toolgate:"}
        now = datetime.now(UTC)
        for name, expires in (("late", now - timedelta(days=1)), ("early", now + timedelta(days=1))):
            await asyncio.to_thread(sender.send_task, "tests.local", args=["a", name], expires=expires)
        await asyncio.to_thread(sender.send_task, "tests.local", args=["a", "urgent"], priority=9)
    await messages.send([("tests.local", ["a", "last"])])
    worker = queue.start("--concurrency", "1")
    assert sorted(queue.noted("ended", 3)) == ["a:early", "a:last", "a:urgent"]
    queue.end(worker, signal.SIGTERM)
    assert (queue.redis.llen("ended"), queue.waiting()) == (3, 0)


async def test_what_is_no_message_is_left_to_celery_and_stops_nothing(queue: Queue) -> None:
    queue.redis.set("gate", 1)
    queue.redis.lpush("toolgate:celery", '{"body": "bm8=", "headers": {}, "properties": {"delivery_tag": "1"}}')
    await messages.send([("tests.local", ["a", "after"])])
    queue.start("--concurrency", "1")
    assert queue.noted("ended", 1) == ["a:after"]


async def test_a_broker_that_gives_one_message_a_command_is_enough(queue: Queue) -> None:
    # As Redis 6, which does not know the command either.
    queue.redis.acl_setuser("six", enabled=True, nopass=True, keys="*", channels="*", commands=["+@all", "-blmpop"])
    try:
        await messages.send([("tests.local", ["a", str(number)]) for number in range(20)])
        queue.redis.set("gate", 1)
        host = queue.url.rpartition("@")[2]
        queue.start("--concurrency", "2", REDIS_URL=f"redis://six:any@{host}")
        assert len(set(await asyncio.to_thread(queue.noted, "ended", 20))) == 20
    finally:
        queue.redis.acl_deluser("six")


async def test_a_queue_that_is_not_consumed_any_more_is_left_alone_until_it_is_again(queue: Queue) -> None:
    queue.redis.set("gate", 1)
    await messages.send([("tests.local", ["a", "before"])])
    queue.start("--concurrency", "1")
    await asyncio.to_thread(queue.noted, "ended", 1)
    with Celery("sender", broker=queue.url) as sender:
        sender.conf.broker_transport_options = {"global_keyprefix": "toolgate:"}
        # A worker runs messages before Celery's consumer listens to commands, so it may have to be told again.
        told = {"reply": True, "limit": 1, "timeout": 5}
        replies = await eventually(lambda: sender.control.cancel_consumer("celery", **told))
        assert [next(iter(each.values()))["ok"] for each in replies] == ["no longer consuming from celery"]
        # What waits for a message at this moment waits no longer than half a second.
        await messages.send([("tests.local", ["a", "between"])])
        await messages.send([("tests.local", ["a", "held"])])
        await eventually(lambda: sender.control.add_consumer("celery", **told))
    await messages.send([("tests.local", ["a", "after"])])
    await eventually(lambda: queue.redis.llen("ended") == 4)
