"""Messages that the event loop publishes: what Celery would send, and what a stock worker takes."""

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.test import override_settings
from redis.exceptions import RedisError

from tests.stack import free_port
from tests.tools.workers import QUEUE, Queue
from tests.waiting import until
from tools.network import messages

IDS = ["018f0000-0000-7000-8000-000000000001", "018f0000-0000-7000-8000-000000000002", "é"]
STOCK = """
import os
from celery import Celery
from redis import Redis

app = Celery("stock", broker=os.environ["REDIS_URL"], broker_transport_options={"global_keyprefix": "toolgate:"})

@app.task(name="tools.execute_local", bind=True)
def execute_local(self, *arguments):
    Redis.from_url(os.environ["REDIS_URL"]).rpush("started", ":".join(arguments))
"""


@pytest.fixture
def queue() -> Iterator[Queue]:
    """A broker where no worker listens, which this process publishes to."""
    with Queue() as queue, override_settings(REDIS_URL=queue.url):
        yield queue


def _read(queue: Queue) -> dict[str, Any]:
    """The only message, with a name for each value that differs each time."""
    [raw] = queue.redis.lrange(QUEUE, 0, -1)  # type: ignore[misc]
    queue.redis.delete(QUEUE)
    message: dict[str, Any] = json.loads(raw)
    headers, properties = message["headers"], message["properties"]
    task_id = headers["id"]
    assert len({task_id, properties["delivery_tag"], properties["reply_to"]}) == 3
    for holder, name in ((headers, "id"), (headers, "root_id"), (properties, "correlation_id")):
        assert holder[name] == task_id
        holder[name] = "the task's id"
    properties["delivery_tag"] = "an id"
    message["body"] = json.loads(base64.b64decode(message["body"]))
    return message


async def test_a_message_is_field_by_field_what_celery_sends(queue: Queue) -> None:
    await messages.send([("tools.execute_local", IDS)])
    ours = _read(queue)
    with current_app.connection_for_write(queue.url) as connection:
        current_app.send_task("tools.execute_local", args=IDS, ignore_result=True, retry=False, connection=connection)
    theirs = _read(queue)
    assert ours == theirs
    assert list(ours["headers"]) == list(theirs["headers"])
    assert ours["headers"]["argsrepr"] == repr(IDS)


async def test_a_stock_celery_worker_runs_them_in_order(queue: Queue, tmp_path: Path) -> None:
    (tmp_path / "stock.py").write_text(STOCK)
    await messages.send([("tools.execute_local", ["first", *IDS]), ("tools.execute_local", ["second"])])
    await messages.send([("tools.execute_local", ["third"])])
    queue.start("--pool", "solo", app="stock", PYTHONPATH=f"{tmp_path}:{':'.join(sys.path)}")
    assert queue.noted("started", 3) == [":".join(["first", *IDS]), "second", "third"]
    # Celery acknowledges a message after its pool has begun with it, here in the same thread: after the task.
    until(lambda: (queue.waiting(), queue.unacknowledged()) == (0, 0), queue.log)


async def test_several_messages_are_one_command(queue: Queue) -> None:
    await messages.send([])
    assert queue.waiting() == 0
    before = queue.redis.info("commandstats").get("cmdstat_lpush", {"calls": 0})["calls"]  # type: ignore[union-attr]
    await messages.send([("tools.execute_local", [str(number)]) for number in range(20)])
    assert queue.waiting() == 20
    assert queue.redis.info("commandstats")["cmdstat_lpush"]["calls"] == before + 1  # type: ignore[index]


async def test_a_broker_that_is_away_is_an_error_of_redis() -> None:
    with override_settings(REDIS_URL=f"redis://127.0.0.1:{free_port()}/0"), pytest.raises(RedisError):
        await messages.send([("tools.execute_local", IDS)])
